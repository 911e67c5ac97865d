"""Topics: made, listed, described, given more partitions, deleted."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from headrace.admin import topics
from headrace.admin.admin import TOPIC, Admin, Resource
from headrace.admin.configs import describe_configs
from headrace.admin.topics import TopicSeen
from headrace.base import topic_names
from headrace.base.ids import TopicPartition
from headrace.gateway.admin.configs import ConfigShown
from headrace.gateway.admin.routing import Number, RequestBody, Shared, Topic, TopicName, admin_router

TOPIC_PARTITIONS_MAX = 10_000

router = admin_router("topics")


class NewTopic(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "orders",
                "partitions": 6,
                "replication_factor": 3,
                "configs": {"retention.ms": "604800000"},
            }
        }
    )

    name: TopicName
    partitions: Annotated[
        int | None, Field(ge=1, le=TOPIC_PARTITIONS_MAX, description="The brokers' default if left out.")
    ] = None
    replication_factor: Annotated[int | None, Field(ge=1, le=32767)] = None
    configs: Annotated[dict[str, str], Field(default_factory=dict)]
    replicas: Annotated[
        list[list[Number]],
        Field(
            default_factory=list,
            description="Brokers of each partition, preferred leader first; placed by the cluster if left out.",
        ),
    ]


class TopicListed(BaseModel):
    topic: str
    id: str
    internal: bool
    partitions: int
    replication_factor: int
    offline: Annotated[int, Field(description="Partitions without a leader.")]
    under_replicated: Annotated[int, Field(description="Partitions that lack in-sync replicas.")]


class TopicList(BaseModel):
    topics: list[TopicListed]


class PartitionShown(BaseModel):
    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    start_offset: Annotated[int | None, Field(description="null when no leader answers.")]
    end_offset: int | None


class TopicShown(BaseModel):
    topic: str
    id: str
    internal: bool
    replication_factor: int
    partitions: list[PartitionShown]
    configs: Annotated[list[ConfigShown], Field(description="Those that do not stand at their default.")]


class NewPartitions(RequestBody):
    model_config = ConfigDict(json_schema_extra={"example": {"total": 12}})

    total: Annotated[
        int, Field(ge=1, le=TOPIC_PARTITIONS_MAX, description="How many there will be; never fewer than now.")
    ]


@router.get("/topics", summary="List topics")
async def list_topics(
    gateway: Shared,
    internal: Annotated[bool, Query(description="Internal topics too.")] = False,
    prefix: Annotated[str, Query(max_length=topic_names.LENGTH_MAX, description="Only names that begin so.")] = "",
) -> TopicList:
    seen = await topics.list_topics(gateway.admin)
    chosen = [each for each in seen if each.name.startswith(prefix) and (internal or not each.is_internal)]
    return TopicList(topics=[_listed(each) for each in chosen])


_WOULD_DO = {"description": "It could be made.", "content": {"application/json": {"schema": {"type": "null"}}}}


@router.post("/topics", status_code=201, summary="Create a topic", responses={200: _WOULD_DO})
async def create_topic(
    new: NewTopic,
    gateway: Shared,
    response: Response,
    validate_only: Annotated[bool, Query(description="Check it, and make nothing.")] = False,
) -> TopicShown | None:
    await topics.create_topic(
        gateway.admin,
        new.name,
        new.partitions,
        new.replication_factor,
        new.configs,
        new.replicas,
        validate_only,
    )
    if validate_only:
        response.status_code = 200
        return None
    response.headers["Location"] = f"/api/v1/topics/{new.name}"
    return await _shown(gateway.admin, new.name)


@router.get("/topics/{topic}", summary="Describe a topic")
async def describe_topic(topic: Topic, gateway: Shared) -> TopicShown:
    return await _shown(gateway.admin, topic)


@router.post("/topics/{topic}/partitions", summary="Give a topic more partitions")
async def add_partitions(topic: Topic, wanted: NewPartitions, gateway: Shared) -> TopicShown:
    await topics.find_topic(gateway.admin, topic)
    await topics.add_partitions(gateway.admin, topic, wanted.total)
    return await _shown(gateway.admin, topic)


@router.delete("/topics/{topic}", status_code=204, summary="Delete a topic with all its messages")
async def delete_topic(topic: Topic, gateway: Shared) -> None:
    await topics.find_topic(gateway.admin, topic)
    await topics.delete_topic(gateway.admin, topic)


async def _shown(admin: Admin, name: str) -> TopicShown:
    seen = await topics.find_topic(admin, name)
    ids = [TopicPartition(name, each.partition_index) for each in seen.partitions]
    ranges = await topics.offset_ranges(admin, ids)
    configs = await describe_configs(admin, Resource(TOPIC, name))
    partitions = [
        PartitionShown(
            partition=each.partition_index,
            leader=each.leader_id if each.leader_id >= 0 else None,
            leader_epoch=each.leader_epoch,
            replicas=each.replica_nodes,
            isr=each.isr_nodes,
            start_offset=ranges[id][0],
            end_offset=ranges[id][1],
        )
        for id, each in zip(ids, seen.partitions, strict=True)
    ]
    return TopicShown(
        topic=name,
        id=seen.id,
        internal=seen.is_internal,
        replication_factor=seen.replication_factor,
        partitions=partitions,
        configs=[ConfigShown.of(each) for each in configs if each.source != "default"],
    )


def _listed(seen: TopicSeen) -> TopicListed:
    return TopicListed(
        topic=seen.name,
        id=seen.id,
        internal=seen.is_internal,
        partitions=len(seen.partitions),
        replication_factor=seen.replication_factor,
        offline=sum(each.leader_id < 0 for each in seen.partitions),
        under_replicated=sum(len(each.isr_nodes) < len(each.replica_nodes) for each in seen.partitions),
    )
