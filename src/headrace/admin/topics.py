"""Topics as an administrator handles them: made, given more partitions, deleted; and what each of them is now."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headrace.admin.admin import TIMEOUT_MS, Admin, check
from headrace.admin.positions import list_offsets
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition, format_id
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.client.kafka_cluster import check as check_about
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from headrace.wire.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

BROKERS_DEFAULT = -1


class TopicSeen(NamedTuple):
    name: str
    id: str
    is_internal: bool
    partitions: Sequence[MetadataResponsePartition]

    @property
    def ids(self) -> list[TopicPartition]:
        return [TopicPartition(self.name, each.partition_index) for each in self.partitions]

    @property
    def replication_factor(self) -> int:
        return max((len(each.replica_nodes) for each in self.partitions), default=0)


async def create_topic(
    admin: Admin,
    name: str,
    partitions: int | None = None,
    replication_factor: int | None = None,
    configs: Mapping[str, str] | None = None,
    replicas: Sequence[Sequence[int]] = (),
    validate_only: bool = False,
) -> None:
    """`replicas` places each partition by hand; without it the brokers do."""
    wanted = CreatableTopic(
        name,
        partitions or BROKERS_DEFAULT,
        replication_factor or BROKERS_DEFAULT,
        [CreatableReplicaAssignment(index, list(brokers)) for index, brokers in enumerate(replicas)],
        [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()],
    )
    request = CreateTopicsRequest([wanted], TIMEOUT_MS, validate_only)
    (answer,) = (await admin.ask(request, CreateTopicsResponse)).topics
    check(answer.error_code, answer.error_message)


async def delete_topic(admin: Admin, name: str) -> None:
    # Both layouts in one request: each version writes the one that it knows.
    request = DeleteTopicsRequest([DeleteTopicState(name)], [name], TIMEOUT_MS)
    (answer,) = (await admin.ask(request, DeleteTopicsResponse)).responses
    check(answer.error_code, answer.error_message)


async def add_partitions(admin: Admin, name: str, total: int) -> None:
    request = CreatePartitionsRequest([CreatePartitionsTopic(name, total, None)], TIMEOUT_MS)
    (answer,) = (await admin.ask(request, CreatePartitionsResponse)).results
    check(answer.error_code, answer.error_message)


async def list_topics(admin: Admin) -> list[TopicSeen]:
    return sorted(_seen(each) for each in (await admin.metadata()).topics if not each.error_code)


async def find_topic(admin: Admin, name: str) -> TopicSeen:
    (found,) = (await admin.metadata([name])).topics
    if found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise Refused(found.error_code, f"there is no topic {name}")
    check_about(found.error_code, f"topic {name}")
    return _seen(found)


def _seen(topic: MetadataResponseTopic) -> TopicSeen:
    partitions = sorted(topic.partitions, key=lambda each: each.partition_index)
    return TopicSeen(topic.name or "", format_id(topic.topic_id), topic.is_internal, partitions)


async def offset_ranges(
    admin: Admin, partitions: Iterable[TopicPartition], seconds_max: float = 0
) -> dict[TopicPartition, tuple[int | None, int | None]]:
    """Start and end of each partition; None where no leader answers, which is looked for this long."""
    ids = list(partitions)
    starts = await list_offsets(admin, dict.fromkeys(ids, EARLIEST), seconds_max)
    ends = await list_offsets(admin, dict.fromkeys(starts, LATEST), seconds_max)
    return {id: (starts.get(id), ends.get(id)) for id in ids}
