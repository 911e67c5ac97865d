"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn: what producers ask the coordinator of their id."""

import contextlib
from collections.abc import Callable

from headrace.base.errors import Refused, StoreUnreachable
from headrace.base.ids import TopicPartition
from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.coordinators.producer_ids import ProducerIdBlocks
from headrace.broker.coordinators.transaction import TransactionCoordinator
from headrace.broker.coordinators.transaction_checks import codes_of
from headrace.broker.coordinators.transactions import TransactionCoordinators
from headrace.broker.handlers.groups import Gathering
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.net.requests_in_order import Pending
from headrace.txns.questions import AddPartitions, Answer, BeginProducer, EndTransaction, Question
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
    EndTxnResponse,
    InitProducerIdResponse,
)

BATCHED_SINCE = 4
ABORTABLE_SINCE_ADD_PARTITIONS = 5
EPOCH_PER_TRANSACTION_SINCE_END_TXN = 5
INIT_KNOWS_FENCED_SINCE = 4
KNOWS_FENCED_SINCE = 2


def handle_init_producer_id(
    transactions: TransactionCoordinators, producer_ids: ProducerIdBlocks, request: Request
) -> object:
    body = request.body
    if body.transactional_id is None:
        return _plain_producer_id(producer_ids)
    if not body.transactional_id:
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST)
    pending = request.defer()

    def answer(said: Answer) -> None:
        code = _fenced_as(said.code, request.version >= INIT_KNOWS_FENCED_SINCE)
        epoch = 0 if code else said.producer_epoch
        pending.complete(InitProducerIdResponse(0, code, said.producer_id, epoch))

    question = BeginProducer(body.transactional_id, body.transaction_timeout_ms, body.producer_id, body.producer_epoch)
    ask(transactions, body.transactional_id, question, answer)
    return pending


async def _plain_producer_id(producer_ids: ProducerIdBlocks) -> InitProducerIdResponse:
    """A new producer id for a producer that is idempotent only: no producer of this cluster ever had it."""
    try:
        return InitProducerIdResponse(0, 0, await producer_ids.next(), 0)
    except Refused as refusal:
        return InitProducerIdResponse(error_code=refusal.code)
    except StoreUnreachable:
        return InitProducerIdResponse(error_code=ErrorCode.REQUEST_TIMED_OUT)


def ask(
    transactions: TransactionCoordinators,
    transactional_id: str,
    question: Question,
    answer: Callable[[Answer], None],
) -> None:
    def ask_it(coordinator: TransactionCoordinator | None) -> None:
        if coordinator is None:
            answer(Answer(ErrorCode.NOT_COORDINATOR))
        else:
            coordinator.ask(question, answer)

    transactions.when_here(transactional_id, ask_it)


def _fenced_as(code: ErrorCode, knows_fenced: bool) -> ErrorCode:
    """Older versions had no code of their own for it."""
    if code is ErrorCode.PRODUCER_FENCED and not knows_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


# -- partitions --------------------------------------------------------------------------------------------------------


def handle_add_partitions_to_txn(
    view: View, transactions: TransactionCoordinators, request: Request
) -> Pending | AddPartitionsToTxnResponse:
    if request.version >= BATCHED_SINCE:
        return _add_batched(transactions, request)
    body = request.body
    partitions = _partitions(body.v3_and_below_topics)
    unknown = frozenset(each for each in partitions if view.image.partition(*each) is None)
    if unknown:
        # All or nothing: the client is told which one was in the way.
        codes = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
        codes.update(dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        results = _topic_results(body.v3_and_below_topics, codes)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
    pending = request.defer()

    def answer(said: Answer) -> None:
        code = _fenced_as(said.code, request.version >= KNOWS_FENCED_SINCE)
        results = _topic_results(body.v3_and_below_topics, dict.fromkeys(partitions, code))
        pending.complete(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results))

    question = AddPartitions(
        body.v3_and_below_transactional_id,
        body.v3_and_below_producer_id,
        body.v3_and_below_producer_epoch,
        partitions,
    )
    ask(transactions, question.transactional_id, question, answer)
    return pending


def _add_batched(transactions: TransactionCoordinators, request: Request) -> Pending:
    """Adds partitions to several transactions, as leaders of partitions ask for it."""
    pending = request.defer()
    wanted = request.body.transactions

    def done(results: list[AddPartitionsToTxnResult]) -> None:
        pending.complete(AddPartitionsToTxnResponse(results_by_transaction=results))

    gathering = Gathering(len(wanted), done)
    for place, transaction in enumerate(wanted):
        _add_one(transactions, request.version, transaction, gathering.part(place))
    return pending


def _add_one(
    transactions: TransactionCoordinators,
    version: int,
    transaction: AddPartitionsToTxnTransaction,
    done: Callable[[AddPartitionsToTxnResult], None],
) -> None:
    question = AddPartitions(
        transaction.transactional_id,
        transaction.producer_id,
        transaction.producer_epoch,
        _partitions(transaction.topics),
        transaction.verify_only,
        client_version=2,
        may_wait=False,
    )

    def answer(said: Answer) -> None:
        codes = codes_of(question, said)
        if version < ABORTABLE_SINCE_ADD_PARTITIONS:
            codes.update(dict.fromkeys(said.missing, ErrorCode.INVALID_TXN_STATE))
        done(AddPartitionsToTxnResult(transaction.transactional_id, _topic_results(transaction.topics, codes)))

    ask(transactions, transaction.transactional_id, question, answer)


def _partitions(topics: list[AddPartitionsToTxnTopic]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)


def _topic_results(
    topics: list[AddPartitionsToTxnTopic], codes: dict[TopicPartition, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    def results_of(topic: AddPartitionsToTxnTopic) -> list[AddPartitionsToTxnPartitionResult]:
        ids = (TopicPartition(topic.name, index) for index in topic.partitions)
        return [AddPartitionsToTxnPartitionResult(id.partition, codes[id]) for id in ids]

    return [AddPartitionsToTxnTopicResult(topic.name, results_of(topic)) for topic in topics]


def handle_add_offsets_to_txn(
    groups: GroupCoordinators, transactions: TransactionCoordinators, request: Request
) -> object:
    """The offsets of a group are one more partition of the transaction: the one that keeps the group."""
    body = request.body
    if not body.group_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    index = groups.homes.index_of(body.group_id)
    if index is None:
        return _create_offsets_topic(groups, body.group_id)
    pending = request.defer()

    def answer(said: Answer) -> None:
        code = _fenced_as(said.code, request.version >= KNOWS_FENCED_SINCE)
        pending.complete(AddOffsetsToTxnResponse(0, code))

    partitions = frozenset({TopicPartition(groups.topic, index)})
    question = AddPartitions(body.transactional_id, body.producer_id, body.producer_epoch, partitions)
    ask(transactions, body.transactional_id, question, answer)
    return pending


async def _create_offsets_topic(groups: GroupCoordinators, group_id: str) -> AddOffsetsToTxnResponse:
    """Creates the offsets topic, which no group has needed yet. The client comes back when there is a place for its
    group.
    """
    with contextlib.suppress(Refused):
        await groups.homes.find(group_id)
    return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


# -- the end -----------------------------------------------------------------------------------------------------------


def handle_end_txn(transactions: TransactionCoordinators, request: Request) -> Pending:
    body = request.body
    pending = request.defer()

    def answer(said: Answer) -> None:
        code = _fenced_as(said.code, request.version >= KNOWS_FENCED_SINCE)
        pending.complete(EndTxnResponse(0, code, said.producer_id, said.producer_epoch))

    question = EndTransaction(
        body.transactional_id,
        body.producer_id,
        body.producer_epoch,
        body.committed,
        client_version=2 if request.version >= EPOCH_PER_TRANSACTION_SINCE_END_TXN else 1,
    )
    ask(transactions, body.transactional_id, question, answer)
    return pending
