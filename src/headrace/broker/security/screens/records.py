"""Screens of what deals with records: Produce, ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers."""

from typing import Any

from headrace.base.topic_names import topic_name_problem
from headrace.broker.net.dispatch import Proceed, Request
from headrace.broker.security.screens.parts import answer_rest, may_with_topic, take_out
from headrace.cluster.image import Image
from headrace.security.operations import Operation
from headrace.wire.batch import TRANSACTIONAL
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.offsets import (
    DeleteRecordsPartitionResult,
    DeleteRecordsTopicResult,
    EpochEndOffset,
    ListOffsetsPartitionResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderTopicResult,
)
from headrace.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from headrace.wire.messages.producers import PartitionResponse, TopicResponse

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
# Where the low byte of the attributes stands in a batch.
_ATTRIBUTES_AT = 22


def screen_produce(image: Image, request: Request, proceed: Proceed) -> Any:
    """Looks at the batches, not at what the request says of itself: a batch of a transaction needs its id's permission."""
    body, rights = request.body, request.rights
    if _has_transactional(body) and not (
        body.transactional_id is not None and rights.transactional_id(Operation.WRITE, body.transactional_id)
    ):
        return _refuse_produce(request, body.topic_data, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    denied = take_out(
        body.topic_data, lambda topic: may_with_topic(rights, image, Operation.WRITE, topic.name, topic.topic_id)
    )
    if not denied:
        return proceed()
    if not body.topic_data or not body.acks:
        if body.topic_data:
            proceed()
        return _refuse_produce(request, denied, _DENIED)
    return answer_rest(request, proceed, _refused_batches(denied, _DENIED), lambda response: response.responses)


def _has_transactional(body: ProduceRequest) -> bool:
    return any(
        part.records is not None and len(part.records) > _ATTRIBUTES_AT and part.records[_ATTRIBUTES_AT] & TRANSACTIONAL
        for topic in body.topic_data
        for part in topic.partition_data
    )


def _refuse_produce(request: Request, topics: list[TopicProduceData], code: ErrorCode) -> ProduceResponse | None:
    if request.body.acks:
        return ProduceResponse(_refused_batches(topics, code))
    # There is no reply to carry an error; a closed connection is how the client learns of it.
    request.connection.close_because(f"a produce with acks=0 was refused: {code.message}", "Produce")
    return None


def _refused_batches(topics: list[TopicProduceData], code: ErrorCode) -> list[TopicProduceResponse]:
    return [
        TopicProduceResponse(
            topic.name,
            topic.topic_id,
            [
                PartitionProduceResponse(part.index, code, -1, error_message=code.message)
                for part in topic.partition_data
            ],
        )
        for topic in topics
    ]


def screen_list_offsets(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(request.body.topics, lambda topic: rights.topic(Operation.DESCRIBE, topic.name))
    refused = [
        ListOffsetsTopicResponse(
            topic.name, [ListOffsetsPartitionResponse(part.partition_index, _DENIED) for part in topic.partitions]
        )
        for topic in denied
    ]
    return answer_rest(request, proceed, refused, lambda response: response.topics)


def screen_offset_for_leader_epoch(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    if rights.cluster(Operation.CLUSTER_ACTION):
        return proceed()
    denied = take_out(request.body.topics, lambda topic: rights.topic(Operation.DESCRIBE, topic.topic))
    refused = [
        OffsetForLeaderTopicResult(topic.topic, [EpochEndOffset(_DENIED, part.partition) for part in topic.partitions])
        for topic in denied
    ]
    return answer_rest(request, proceed, refused, lambda response: response.topics)


def screen_delete_records(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(request.body.topics, lambda topic: rights.topic(Operation.DELETE, topic.name))
    refused = [
        DeleteRecordsTopicResult(
            topic.name, [DeleteRecordsPartitionResult(part.partition_index, -1, _DENIED) for part in topic.partitions]
        )
        for topic in denied
    ]
    return answer_rest(request, proceed, refused, lambda response: response.topics)


def screen_describe_producers(image: Image, request: Request, proceed: Proceed) -> Any:
    """A name that no topic can have is told so to everybody."""
    rights = request.rights
    denied = take_out(
        request.body.topics, lambda topic: topic_name_problem(topic.name) or rights.topic(Operation.READ, topic.name)
    )
    refused = [
        TopicResponse(
            topic.name, [PartitionResponse(index, _DENIED, _DENIED.message) for index in topic.partition_indexes]
        )
        for topic in denied
    ]
    return answer_rest(request, proceed, refused, lambda response: response.topics)
