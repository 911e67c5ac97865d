"""Groups as JSON: what is listed and described, and how far each partition of a group is."""

from typing import Annotated

from pydantic import BaseModel, Field

from headrace.admin.groups import GroupSeen, MemberSeen
from headrace.admin.lag import PartitionLag
from headrace.base.ids import TopicPartition


class GroupListed(BaseModel):
    group: str
    state: str
    type: Annotated[str, Field(description="classic, or consumer (KIP-848).")]
    coordinator: int
    members: int

    @classmethod
    def of(cls, seen: GroupSeen) -> "GroupListed":
        fields = {**seen._asdict(), "members": len(seen.members)}
        del fields["assignor"]
        return cls(**fields)


class GroupList(BaseModel):
    groups: list[GroupListed]


class PartitionNamed(BaseModel):
    topic: str
    partition: int


class MemberShown(BaseModel):
    member: str
    instance: str | None
    client: str
    host: str
    partitions: list[PartitionNamed]

    @classmethod
    def of(cls, seen: MemberSeen) -> "MemberShown":
        return cls(
            member=seen.member_id,
            instance=seen.instance_id,
            client=seen.client_id,
            host=seen.host,
            partitions=[PartitionNamed(**id._asdict()) for id in seen.partitions],
        )


class MemberList(BaseModel):
    group: str
    members: list[MemberShown]


class PartitionShown(PartitionNamed):
    committed: int | None
    end: Annotated[int | None, Field(description="null when no leader answers.")]
    lag: Annotated[int | None, Field(description="Offsets still to read.")]
    metadata: Annotated[str, Field(description="What was stored with the commit.")]
    member: Annotated[str | None, Field(description="Who reads it.")]

    @classmethod
    def of(cls, id: TopicPartition, lag: PartitionLag | None, member: str | None) -> "PartitionShown":
        if lag is None:
            return cls(**id._asdict(), committed=None, end=None, lag=None, metadata="", member=member)
        return cls(
            **id._asdict(), committed=lag.committed, end=lag.end, lag=lag.lag, metadata=lag.metadata, member=member
        )


class GroupShown(BaseModel):
    group: str
    state: str
    type: str
    assignor: str | None
    coordinator: int
    lag: int
    members: list[MemberShown]
    partitions: list[PartitionShown]


class TopicLag(BaseModel):
    topic: str
    partitions: int
    lag: int
    worst: Annotated[int, Field(description="The largest lag of one partition.")]


class GroupLag(BaseModel):
    group: str
    lag: int
    topics: list[TopicLag]
    partitions: list[PartitionShown]


def lag_by_topic(partitions: list[PartitionShown]) -> list[TopicLag]:
    lags: dict[str, list[int]] = {}
    for each in partitions:
        lags.setdefault(each.topic, []).append(each.lag or 0)
    return [TopicLag(topic=topic, partitions=len(each), lag=sum(each), worst=max(each)) for topic, each in lags.items()]
