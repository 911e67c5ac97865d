"""Offsets of a group: shown, and committed in its place."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from headrace.admin import groups
from headrace.admin.groups import NewCommit
from headrace.admin.lag import committed_by
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.gateway.admin.routing import (
    GROUP_CHARACTERS_MAX,
    Group,
    Number,
    Offset,
    RequestBody,
    Shared,
    TopicName,
    admin_router,
)
from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.session import GroupSession
from headrace.gateway.groups.sessions import Sessions
from headrace.gateway.problem import Problem
from headrace.wire.codes import ErrorCode

ITEMS_MAX = 10_000
METADATA_CHARACTERS_MAX = 4096
_BY_ITS_MEMBERS = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION)

router = admin_router("consumer groups")
short_router = admin_router("consumer groups", prefix="")


class CommitOf(RequestBody):
    topic: TopicName
    partition: Number
    offset: Annotated[
        Offset, Field(description="Of the next message to read: the last one that was dealt with, plus 1.")
    ]
    metadata: Annotated[str, Field(max_length=METADATA_CHARACTERS_MAX)] = ""


class Commits(RequestBody):
    """One partition's commit, or many of them as `offsets`."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"offsets": [{"topic": "orders", "partition": 0, "offset": 42}]}}
    )

    offsets: Annotated[list[CommitOf] | None, Field(min_length=1, max_length=ITEMS_MAX)] = None
    topic: TopicName | None = None
    partition: Number | None = None
    offset: Offset | None = None
    metadata: Annotated[str, Field(max_length=METADATA_CHARACTERS_MAX)] = ""
    session: Annotated[str | None, Field(max_length=100, description="Commit as this member of the group.")] = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        single = (self.topic, self.partition, self.offset)
        if (None in single) if self.offsets is None else any(part is not None for part in single):
            raise ValueError("give topic, partition and offset; or offsets, a list of these")
        return self

    def places(self) -> dict[TopicPartition, NewCommit]:
        if self.offsets is None:
            assert self.topic is not None and self.partition is not None and self.offset is not None, "checked above"
            return {TopicPartition(self.topic, self.partition): NewCommit(self.offset, self.metadata)}
        return {
            TopicPartition(each.topic, each.partition): NewCommit(each.offset, each.metadata) for each in self.offsets
        }


class ShortCommits(Commits):
    model_config = ConfigDict(
        json_schema_extra={"example": {"group": "billing", "topic": "orders", "partition": 0, "offset": 42}}
    )

    group: Annotated[str, Field(min_length=1, max_length=GROUP_CHARACTERS_MAX)]


class Committed(BaseModel):
    topic: str
    partition: int
    offset: int
    metadata: str


class CommittedList(BaseModel):
    group: str
    offsets: list[Committed]


@router.get("/consumer-groups/{group}/offsets", summary="What a group has committed")
async def show_offsets(group: Group, gateway: Shared) -> CommittedList:
    found = await committed_by(gateway.admin, group)
    if not found:
        await groups.describe_group(gateway.admin, group)
    return _list(group, {id: NewCommit(each.offset, each.metadata) for id, each in found.items()})


@router.post("/consumer-groups/{group}/offsets", summary="Commit offsets for a group")
async def commit(group: Group, wanted: Commits, gateway: Shared) -> CommittedList:
    """Commits as one of the group's sessions, if one is named; otherwise the group must have no members."""
    return await _commit(gateway, group, wanted)


@short_router.post("/consumer/commit", summary="Commit offsets for a group (short dialect)")
async def commit_short(wanted: ShortCommits, gateway: Shared) -> CommittedList:
    return await _commit(gateway, wanted.group, wanted)


async def _commit(gateway: Gateway, group: str, wanted: Commits) -> CommittedList:
    if wanted.session is not None:
        return await commit_as_session(gateway.part(Sessions).find(group, wanted.session), wanted)
    places = wanted.places()
    for id, refusal in (await groups.commit(gateway.admin, group, places)).items():
        if refusal.code in _BY_ITS_MEMBERS:
            raise Problem(
                409,
                "Group is in use",
                f"group {group} has active members, which commit by themselves",
                "name the session to commit as, or stop its members first",
            )
        raise Refused(refusal.code, f"{id} was not committed: {refusal.message}")
    return _list(group, places)


async def commit_as_session(session: GroupSession, wanted: Commits) -> CommittedList:
    places = wanted.places()
    await session.commit(places)
    return _list(session.group, places)


def _list(group: str, places: dict[TopicPartition, NewCommit]) -> CommittedList:
    return CommittedList(
        group=group, offsets=[Committed(**id._asdict(), **places[id]._asdict()) for id in sorted(places)]
    )
