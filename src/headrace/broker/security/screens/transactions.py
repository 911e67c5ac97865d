"""Screens of what producers and brokers ask about transactions, and of who may ask for them."""

from typing import Any

from headrace.base.ids import TopicPartition
from headrace.broker.net.dispatch import Proceed, Request
from headrace.broker.security.screens.parts import take_out
from headrace.cluster.entities import INTERNAL_TOPICS
from headrace.cluster.image import Image
from headrace.security.operations import Operation, ResourceType
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.producers import (
    DescribeTransactionsResponse,
    ListTransactionsResponse,
    TransactionState,
)
from headrace.wire.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    EndTxnResponse,
    InitProducerIdResponse,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

AMONG_BROKERS_SINCE = 4
_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_CLUSTER_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def screen_init_producer_id(image: Image, request: Request, proceed: Proceed) -> Any:
    name, rights = request.body.transactional_id, request.rights
    if name is not None:
        allowed = rights.transactional_id(Operation.WRITE, name)
        return proceed() if allowed else InitProducerIdResponse(error_code=_DENIED)
    if rights.cluster(Operation.IDEMPOTENT_WRITE) or rights.may_on_any(Operation.WRITE, ResourceType.TOPIC):
        return proceed()
    return InitProducerIdResponse(error_code=_CLUSTER_DENIED)


def screen_add_partitions_to_txn(image: Image, request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    if request.version >= AMONG_BROKERS_SINCE:
        allowed = rights.cluster(Operation.CLUSTER_ACTION)
        return proceed() if allowed else AddPartitionsToTxnResponse(error_code=_CLUSTER_DENIED)
    topics = body.v3_and_below_topics
    if not rights.transactional_id(Operation.WRITE, body.v3_and_below_transactional_id):
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[_unadded(each, _DENIED) for each in topics])
    denied = {
        topic.name for topic in topics if topic.name in INTERNAL_TOPICS or not rights.topic(Operation.WRITE, topic.name)
    }
    return _refuse_all(image, body, denied) if denied else proceed()


def _refuse_all(image: Image, body: AddPartitionsToTxnRequest, denied: set[str]) -> AddPartitionsToTxnResponse:
    """All or nothing, as ever: what was in the way is told, and the rest was not tried."""
    results = [
        _unadded(topic, _TOPIC_DENIED) if topic.name in denied else _untried(image, topic)
        for topic in body.v3_and_below_topics
    ]
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _untried(image: Image, topic: AddPartitionsToTxnTopic) -> AddPartitionsToTxnTopicResult:
    def code_of(id: TopicPartition) -> ErrorCode:
        is_known = image.partition(*id) is not None
        return ErrorCode.OPERATION_NOT_ATTEMPTED if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    parts = [
        AddPartitionsToTxnPartitionResult(index, code_of(TopicPartition(topic.name, index)))
        for index in topic.partitions
    ]
    return AddPartitionsToTxnTopicResult(topic.name, parts)


def _unadded(topic: AddPartitionsToTxnTopic, code: ErrorCode) -> AddPartitionsToTxnTopicResult:
    parts = [AddPartitionsToTxnPartitionResult(index, code) for index in topic.partitions]
    return AddPartitionsToTxnTopicResult(topic.name, parts)


def screen_add_offsets_to_txn(image: Image, request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    if not rights.transactional_id(Operation.WRITE, body.transactional_id):
        return AddOffsetsToTxnResponse(error_code=_DENIED)
    if not rights.group(Operation.READ, body.group_id):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return proceed()


def screen_end_txn(image: Image, request: Request, proceed: Proceed) -> Any:
    allowed = request.rights.transactional_id(Operation.WRITE, request.body.transactional_id)
    return proceed() if allowed else EndTxnResponse(error_code=_DENIED)


def unmarked(body: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    """The refusal of markers, which only brokers and operators write."""
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [WritableTxnMarkerPartitionResult(index, _CLUSTER_DENIED) for index in topic.partition_indexes],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in body.markers
        ]
    )


def screen_describe_transactions(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(request.body.transactional_ids, lambda name: rights.transactional_id(Operation.DESCRIBE, name))

    def amend(response: DescribeTransactionsResponse) -> None:
        for state in response.transaction_states:
            state.topics = [each for each in state.topics if rights.topic(Operation.DESCRIBE, each.topic)]
        response.transaction_states += [TransactionState(_DENIED, name) for name in denied]

    request.amend(amend)
    return proceed()


def screen_list_transactions(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights

    def hide(response: ListTransactionsResponse) -> None:
        response.transaction_states = [
            each
            for each in response.transaction_states
            if rights.transactional_id(Operation.DESCRIBE, each.transactional_id)
        ]

    request.amend(hide)
    return proceed()
