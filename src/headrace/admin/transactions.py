"""Questions about transactions: which are known, what each has open, and which hang.

A transaction hangs when a partition waits for its end and no coordinator knows of it any more. Since leaders ask before
a transaction's first write (KIP-890) that should not happen; an older cluster's logs, or a coordinator's state that was
lost, may still hold one. It is ended by a marker that an operator writes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headrace.admin.admin import Admin, check
from headrace.admin.coordinators import COME_AGAIN, MOVED_COORDINATOR_SECONDS_MAX, at_coordinator, is_moving
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.kafka_cluster import TRANSACTION
from headrace.client.retry import insist
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages.producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListedTransactionState,
    ListTransactionsRequest,
    ListTransactionsResponse,
    ProducerState,
    TopicRequest,
    TransactionState,
)
from headrace.wire.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


class ListedTransaction(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


class OpenTransaction(NamedTuple):
    """A transaction whose end a partition waits for."""

    partition: TopicPartition
    leader: int
    producer: ProducerState

    @property
    def start_offset(self) -> int:
        return self.producer.current_txn_start_offset


async def list_transactions(
    admin: Admin, states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_than_ms: int = -1
) -> list[ListedTransaction]:
    """Transactions of all live brokers, since each lists those that it coordinates."""
    listed: list[ListedTransaction] = []
    live = [each for each in (await admin.describe_cluster()).brokers if not each.is_fenced]
    for broker in live:
        request = ListTransactionsRequest(list(states), list(producer_ids), longer_than_ms)
        answer = await _ask_until_ready(admin, broker.broker_id, request)
        listed += [_listed(each, broker.broker_id) for each in answer.transaction_states]
    return sorted(listed)


def _listed(each: ListedTransactionState, broker_id: int) -> ListedTransaction:
    return ListedTransaction(each.transactional_id, broker_id, each.producer_id, each.transaction_state)


async def _ask_until_ready(admin: Admin, broker_id: int, request: ListTransactionsRequest) -> ListTransactionsResponse:
    async def ask() -> ListTransactionsResponse:
        answer = await admin.ask_broker(broker_id, request, ListTransactionsResponse)
        if answer.error_code in COME_AGAIN:
            reason = f"broker {broker_id} is still reading its transactions"
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        check(answer.error_code, f"broker {broker_id} does not list its transactions")
        return answer

    return await insist(ask, MOVED_COORDINATOR_SECONDS_MAX, passes=is_moving)


async def describe_transaction(admin: Admin, transactional_id: str) -> tuple[int, TransactionState]:
    """The broker that coordinates a transaction, and the transaction's state."""

    async def ask(broker_id: int) -> tuple[int, TransactionState]:
        request = DescribeTransactionsRequest([transactional_id])
        answer = await admin.ask_broker(broker_id, request, DescribeTransactionsResponse)
        (found,) = answer.transaction_states
        check(found.error_code, f"transactional id {transactional_id}")
        return broker_id, found

    return await at_coordinator(admin, transactional_id, ask, TRANSACTION)


async def open_transactions(admin: Admin, topics: Iterable[str] | None = None) -> list[OpenTransaction]:
    """The open transactions of every partition that has a leader; of these topics only, if any are named."""
    wanted = None if topics is None else set(topics)
    led: dict[int, dict[str, list[int]]] = {}
    for topic in (await admin.metadata()).topics:
        if topic.name is None or (wanted is not None and topic.name not in wanted):
            continue
        for part in topic.partitions:
            if part.leader_id >= 0:
                led.setdefault(part.leader_id, {}).setdefault(topic.name, []).append(part.partition_index)
    found: list[OpenTransaction] = []
    for leader, its_topics in led.items():
        request = DescribeProducersRequest([TopicRequest(name, indexes) for name, indexes in its_topics.items()])
        answer = await admin.ask_broker(leader, request, DescribeProducersResponse)
        for described in answer.topics:
            for each in described.partitions:
                found += [
                    OpenTransaction(TopicPartition(described.name, each.partition_index), leader, producer)
                    for producer in each.active_producers
                    if producer.current_txn_start_offset >= 0
                ]
    return sorted(found, key=lambda each: each.partition)


async def hanging_transactions(
    admin: Admin, topics: Iterable[str] | None, idle_ms: int, now_ms: int
) -> list[OpenTransaction]:
    """Transactions open in a partition, silent for long, of whose partition no coordinator knows."""
    candidates = [
        each for each in await open_transactions(admin, topics) if now_ms - each.producer.last_timestamp >= idle_ms
    ]
    if not candidates:
        return []
    producer_ids = sorted({each.producer.producer_id for each in candidates})
    known: dict[int, set[TopicPartition]] = {}
    for listed in await list_transactions(admin, producer_ids=producer_ids):
        _, state = await describe_transaction(admin, listed.transactional_id)
        known.setdefault(state.producer_id, set()).update(
            TopicPartition(topic.topic, index) for topic in state.topics for index in topic.partitions
        )
    return [each for each in candidates if each.partition not in known.get(each.producer.producer_id, ())]


async def abort_transaction(admin: Admin, hanging: OpenTransaction) -> None:
    """Writes the marker that no coordinator will."""
    producer = hanging.producer
    marker = WritableTxnMarker(
        producer.producer_id,
        producer.producer_epoch,
        False,
        [WritableTxnMarkerTopic(hanging.partition.topic, [hanging.partition.partition])],
        max(producer.coordinator_epoch, 0),
    )
    answer = await admin.ask_broker(hanging.leader, WriteTxnMarkersRequest([marker]), WriteTxnMarkersResponse)
    code = answer.markers[0].topics[0].partitions[0].error_code
    if code:
        raise Refused(code, f"{hanging.partition}: {CODES[code].message}")
