"""Questions to the coordinator before a transaction's first write to a partition (KIP-890): a batch that comes after the
transaction has ended would otherwise open one that nobody ever ends, and readers would wait for ever.

    verify    the client has added the partition itself: is it there?
    add       the client leaves that to us (Produce 12 and TxnOffsetCommit 5 onwards)
"""

import asyncio
from itertools import count

from headrace.base.ids import TopicPartition
from headrace.broker.coordinators.transaction import TransactionCoordinator
from headrace.broker.coordinators.transactions import TransactionCoordinators
from headrace.broker.membership.view import View
from headrace.broker.net.peers import Peers
from headrace.client.connection import Disconnected
from headrace.client.retry import Chance, pause_seconds
from headrace.txns.questions import AddPartitions, Answer
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

VERSION = 5
SECONDS_MAX = 3.0
# For how long a peer is asked again while the last transaction's markers are on their way, and after which pauses.
AGAIN_SECONDS_MAX = 1.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.004, 0.03
Codes = dict[TopicPartition, ErrorCode]
# The broker that was asked is not the coordinator (yet, or any more), or finishes another transaction first.
COME_BACK = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class TransactionChecks:
    def __init__(self, view: View, peers: Peers, transactions: TransactionCoordinators, chance: Chance) -> None:
        self._view = view
        self._peers = peers
        self._transactions = transactions
        self._chance = chance

    async def until_checked(self, question: AddPartitions, seconds_max: float = SECONDS_MAX) -> Codes:
        """A code for each partition: NONE to go on, one of COME_BACK, or why not. Nobody waits longer than `seconds_max`."""
        coordinator = self._transactions.of(question.transactional_id)
        if coordinator is not None:
            return codes_of(question, await _ask_here(coordinator, question, seconds_max))
        index = self._transactions.homes.index_of(question.transactional_id)
        if index is None:
            return dict.fromkeys(question.partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        state = self._view.image.partition(self._transactions.topic, index)
        if state is None or state.leader not in self._view.live or state.leader == self._view.id:
            return dict.fromkeys(question.partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return await self._ask_peer_until_free(state.leader, question, seconds_max)

    async def _ask_peer_until_free(self, peer: int, question: AddPartitions, seconds_max: float) -> Codes:
        """The peer does not let us wait: one answer that is late would hold up all others on the connection."""
        waited = 0.0
        for tries in count(1):
            codes = await self._ask_peer(peer, question, min(SECONDS_MAX, seconds_max))
            if ErrorCode.CONCURRENT_TRANSACTIONS not in codes.values() or waited >= min(AGAIN_SECONDS_MAX, seconds_max):
                break
            pause = pause_seconds(
                tries, first=_FIRST_PAUSE_SECONDS, longest=_LONGEST_PAUSE_SECONDS, chance=self._chance
            )
            await asyncio.sleep(pause)
            waited += pause
        return codes

    async def _ask_peer(self, peer: int, question: AddPartitions, seconds_max: float) -> Codes:
        topics: dict[str, list[int]] = {}
        for topic, index in sorted(question.partitions):
            topics.setdefault(topic, []).append(index)
        transaction = AddPartitionsToTxnTransaction(
            question.transactional_id,
            question.producer_id,
            question.producer_epoch,
            question.verify_only,
            [AddPartitionsToTxnTopic(topic, indexes) for topic, indexes in topics.items()],
        )
        request = AddPartitionsToTxnRequest([transaction])
        codes = dict.fromkeys(question.partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        try:
            response = await self._peers.ask(peer, request, AddPartitionsToTxnResponse, VERSION, seconds_max)
        except Disconnected:
            return codes
        for result in response.results_by_transaction:
            for topic_result in result.topic_results:
                for part in topic_result.results_by_partition:
                    id = TopicPartition(topic_result.name, part.partition_index)
                    codes[id] = CODES[part.partition_error_code]
        return codes


async def _ask_here(coordinator: TransactionCoordinator, question: AddPartitions, seconds_max: float) -> Answer:
    """Our own coordinator may be reading its log, or waiting for the markers of the last transaction: for how long, it
    cannot say, and the client's connection stands still meanwhile."""
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    ticket = coordinator.ask(question, lambda answer: None if future.done() else future.set_result(answer))
    try:
        async with asyncio.timeout(seconds_max):
            return await future
    except TimeoutError:
        return Answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    finally:
        coordinator.tickets.withdraw(ticket)


def codes_of(question: AddPartitions, answer: Answer) -> Codes:
    codes = dict.fromkeys(question.partitions, answer.code)
    codes.update(dict.fromkeys(answer.missing, ErrorCode.TRANSACTION_ABORTABLE))
    return codes
