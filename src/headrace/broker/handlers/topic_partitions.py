"""DescribeTopicPartitions: topics with their partitions, page by page, in the order of their names."""

from collections.abc import Sequence

from headrace.base.errors import Refused
from headrace.broker.handlers.metadata import KnownBrokers, describe_partitions, known_brokers
from headrace.broker.membership.new_leaders import NewLeaders
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image
from headrace.cluster.topic_names import check_topic_name
from headrace.security.operations import Operation, ResourceType
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    MetadataResponsePartition,
)

PARTITIONS_MAX = 2_000


def handle_describe_topic_partitions(
    view: View, new_leaders: NewLeaders, request: Request
) -> DescribeTopicPartitionsResponse:
    body = request.body
    asked, cursor = sorted({topic.name for topic in body.topics}), body.cursor
    if cursor is not None and (cursor.partition_index < 0 or (asked and cursor.topic_name not in asked)):
        refused = [DescribeTopicPartitionsResponseTopic(ErrorCode.INVALID_REQUEST, topic.name) for topic in body.topics]
        return DescribeTopicPartitionsResponse(0, refused)
    names = asked or sorted(view.image.topics)
    first = 0
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
        first = cursor.partition_index if names[:1] == [cursor.topic_name] else 0
    # Before any existence is looked at; who asks for all is told of nothing that it may not know of.
    rights = request.rights
    seen = [name for name in names if rights.topic(Operation.DESCRIBE, name)]
    room = max(1, min(body.response_partition_limit, PARTITIONS_MAX))
    first = first if seen[:1] == names[:1] else 0
    response = _page(view.image, new_leaders, known_brokers(view, request), seen, first, room)
    for topic in response.topics:
        topic.topic_authorized_operations = rights.operations(ResourceType.TOPIC, topic.name or "")
    denied = set(names).difference(seen) if asked else ()
    response.topics += [
        DescribeTopicPartitionsResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name) for name in sorted(denied)
    ]
    return response


def _page(
    image: Image, new_leaders: NewLeaders, known: KnownBrokers, names: Sequence[str], first: int, room: int
) -> DescribeTopicPartitionsResponse:
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if room == 0:
            response.next_cursor = Cursor(name, 0)
            break
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(DescribeTopicPartitionsResponseTopic(_why_unknown(name), name))
            continue
        end = min(first + room, len(topic.partitions))
        response.topics.append(_describe(new_leaders, known, topic, range(first, end)))
        room -= max(0, end - first)
        if end < len(topic.partitions):
            response.next_cursor = Cursor(name, end)
            break
        first = 0
    return response


def _describe(
    new_leaders: NewLeaders, known: KnownBrokers, topic: Topic, indexes: range
) -> DescribeTopicPartitionsResponseTopic:
    parts = [
        _partition(part, topic.partitions[part.partition_index])
        for part in describe_partitions(new_leaders, known, topic, indexes)
    ]
    return DescribeTopicPartitionsResponseTopic(ErrorCode.NONE, topic.name, topic.id, topic.internal, parts)


def _partition(part: MetadataResponsePartition, state: PartitionState) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        part.error_code,
        part.partition_index,
        part.leader_id,
        part.leader_epoch,
        part.replica_nodes,
        part.isr_nodes,
        # Never null, though the schema allows it: the Java admin client fails on null.
        list(state.elr),
        [],
        part.offline_replicas,
    )


def _why_unknown(name: str) -> int:
    try:
        check_topic_name(name)
    except Refused as refusal:
        return refusal.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
