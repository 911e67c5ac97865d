"""DescribeProducers, DescribeTransactions, ListTransactions: who writes, and what is still open."""

from typing import Any

from headrace.base.errors import Refused
from headrace.broker.coordinators.transactions import TransactionCoordinators
from headrace.broker.handlers.groups import Gathering
from headrace.broker.handlers.transactions import ask
from headrace.broker.net.dispatch import Request
from headrace.broker.net.requests_in_order import Pending
from headrace.broker.partitions import Partitions
from headrace.cluster.topic_names import check_topic_name
from headrace.groups.expression import BadExpression, compile_expression
from headrace.txns.questions import Answer, DescribeTransaction, Listed, ListTransactions
from headrace.txns.state import TxnState
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.producers import (
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListedTransactionState,
    ListTransactionsResponse,
    PartitionResponse,
    ProducerState,
    TopicData,
    TopicResponse,
    TransactionState,
)

_STATES = {state.title: state for state in TxnState}
_NO_OFFSET = -1


def handle_describe_producers(partitions: Partitions, request: Request) -> DescribeProducersResponse:
    topics = [
        TopicResponse(
            topic.name, [_describe_producers(partitions, topic.name, index) for index in topic.partition_indexes]
        )
        for topic in request.body.topics
    ]
    return DescribeProducersResponse(0, topics)


def _describe_producers(partitions: Partitions, topic: str, index: int) -> PartitionResponse:
    try:
        check_topic_name(topic)
        partition = partitions.hosted(topic, index)
        partition.check_leader()
    except Refused as refusal:
        return PartitionResponse(index, refusal.code, refusal.message or None)
    log = partition.log
    producers = [
        ProducerState(
            producer_id,
            state.epoch,
            state.last_sequence,
            state.last_seen_ms,
            state.coordinator_epoch,
            _NO_OFFSET if (start := log.state.transactions.open.get(producer_id)) is None else start,
        )
        for producer_id, state in log.state.producers.items()
    ]
    return PartitionResponse(index, 0, None, producers)


def handle_describe_transactions(transactions: TransactionCoordinators, request: Request) -> Pending:
    pending = request.defer()
    names = request.body.transactional_ids

    def done(answers: list[Any]) -> None:
        states = [_described(name, answer) for name, answer in zip(names, answers, strict=True)]
        pending.complete(DescribeTransactionsResponse(0, states))

    gathering = Gathering(len(names), done)
    for place, name in enumerate(names):
        ask(transactions, name, DescribeTransaction(name), gathering.part(place))
    return pending


def _described(name: str, answer: Answer) -> TransactionState:
    if answer.code is not ErrorCode.NONE:
        return TransactionState(answer.code, name)
    _, transaction = answer.listed[0]
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return TransactionState(
        0,
        name,
        transaction.state.title,
        transaction.timeout_ms,
        transaction.started_at,
        transaction.producer_id,
        transaction.producer_epoch,
        [TopicData(topic, indexes) for topic, indexes in topics.items()],
    )


def handle_list_transactions(
    transactions: TransactionCoordinators, request: Request
) -> Pending | ListTransactionsResponse:
    """Lists the transactions that this broker coordinates; clients ask all brokers."""
    body = request.body
    try:
        wanted = compile_expression(body.transactional_id_pattern or "")
    except BadExpression:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    if transactions.is_away:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    pending = request.defer()
    known = frozenset(_STATES[name] for name in body.state_filters if name in _STATES)
    unknown = [name for name in body.state_filters if name not in _STATES]
    coordinators = list(transactions)

    def done(answers: list[Any]) -> None:
        pending.complete(_merged(answers, wanted, unknown))

    if unknown and not known:
        return ListTransactionsResponse(unknown_state_filters=unknown)
    question = ListTransactions(known, frozenset(body.producer_id_filters), body.duration_filter)
    gathering = Gathering(len(coordinators), done)
    for place, coordinator in enumerate(coordinators):
        coordinator.ask(question, gathering.part(place))
    return pending


def _merged(answers: list[Answer], wanted: Any, unknown: list[str]) -> ListTransactionsResponse:
    code = next((answer.code for answer in answers if answer.code), ErrorCode.NONE)
    if code is ErrorCode.NOT_COORDINATOR:
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    listed: list[Listed] = [each for answer in answers for each in answer.listed]
    states = [
        ListedTransactionState(name, transaction.producer_id, transaction.state.title)
        for name, transaction in listed
        if not wanted.pattern or wanted.fullmatch(name)
    ]
    return ListTransactionsResponse(0, code, unknown, states)
