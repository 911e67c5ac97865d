"""Batches of a Produce request that would be the first of their transaction on their partition, and whether they may.

Later ones need no question: the transaction is open here, and nothing but its marker ends that.
"""

from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.broker.coordinators.transaction_checks import COME_BACK, SECONDS_MAX, TransactionChecks
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.partitions import Partitions
from headrace.partition.appends import ADDS_SINCE_PRODUCE
from headrace.partition.partition import Partition
from headrace.partition.verification import Verification
from headrace.txns.questions import AddPartitions
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header
from headrace.wire.codes import ErrorCode

BY_ID_SINCE_PRODUCE = 13
ABORTABLE_SINCE_PRODUCE = 11
# A request that allows less would never be answered by a coordinator on another host.
SECONDS_MIN = 0.1


class _First(NamedTuple):
    verification: Verification
    header: BatchHeader
    partition: Partition


class FirstWrites:
    def __init__(self, view: View, partitions: Partitions, checks: TransactionChecks, request: Request) -> None:
        self._view = view
        self._partitions = partitions
        self._checks = checks
        self._version = request.version
        self._seconds_max = min(SECONDS_MAX, max(SECONDS_MIN, request.body.timeout_ms / 1000))
        self._first: dict[TopicPartition, _First] = {}
        self._refusals: dict[TopicPartition, ErrorCode] = {}
        self._is_on = view.config.flag("transaction.partition.verification.enable")
        self._find(request)
        self.questions = self._questions(request.body.transactional_id)

    @property
    def _adds(self) -> bool:
        return self._version >= ADDS_SINCE_PRODUCE

    def _find(self, request: Request) -> None:
        by_id = request.version >= BY_ID_SINCE_PRODUCE
        for topic in request.body.topic_data:
            name = self._view.image.topic_names.get(topic.topic_id) if by_id else topic.name
            for part in topic.partition_data:
                partition = self._partitions.find(name, part.index)
                header = _transactional(part.records)
                if partition is not None and partition.is_leader and header is not None:
                    self._look_at(partition, header)

    def _look_at(self, partition: Partition, header: BatchHeader) -> None:
        if partition.verifications.is_in_transaction(header.producer_id, header.producer_epoch):
            return
        if partition.log.state.check(header, partition.log.config.producers_max) is not None:
            # A resend, or out of step: the append will say so, and write nothing.
            return
        verification = partition.verifications.begin(header.producer_id, header.producer_epoch)
        self._first[partition.id] = _First(verification, header, partition)

    def _questions(self, transactional_id: str) -> list[AddPartitions]:
        """One for each producer, and there should be one only."""
        producers: dict[tuple[int, int], set[TopicPartition]] = {}
        for partition, first in self._first.items():
            producers.setdefault((first.header.producer_id, first.header.producer_epoch), set()).add(partition)
        client_version = 2 if self._adds else 1
        return [
            AddPartitions(transactional_id, *producer, frozenset(partitions), not self._adds, client_version)
            for producer, partitions in producers.items()
        ]

    async def until_checked(self) -> "FirstWrites":
        if self._is_on or self._adds:
            for question in self.questions:
                for partition, code in (await self._checks.until_checked(question, self._seconds_max)).items():
                    if code is not ErrorCode.NONE:
                        self._refuse(partition, code)
        return self

    def _refuse(self, partition: TopicPartition, code: ErrorCode) -> None:
        self._refusals[partition] = self._as_produce_code(code)
        first = self._first[partition]
        first.partition.verifications.drop(first.header.producer_id, first.verification)

    def _as_produce_code(self, code: ErrorCode) -> ErrorCode:
        if code is ErrorCode.CONCURRENT_TRANSACTIONS and self._adds:
            # The producer's last transaction is still ending. Clients that leave the adding to us know the code.
            return code
        if code in COME_BACK:
            # The one code that makes every client send the same batch again soon, without new metadata.
            return ErrorCode.NOT_ENOUGH_REPLICAS
        if code is ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if code is ErrorCode.TRANSACTION_ABORTABLE and self._version < ABORTABLE_SINCE_PRODUCE:
            return ErrorCode.INVALID_TXN_STATE
        return code

    def verification(self, topic: str | None, index: int) -> Verification | None:
        """The proof that the append has to show; raises Refused with the coordinator's reason against it."""
        id = TopicPartition(topic or "", index)
        if id not in self._first:
            return None
        code = self._refusals.get(id)
        if code is not None:
            raise Refused(code, "the transaction's coordinator does not allow this write, or not yet")
        return self._first[id].verification


def _transactional(records: memoryview | None) -> BatchHeader | None:
    if records is None or len(records) < HEADER_SIZE:
        return None
    try:
        header = parse_header(records)
    except CorruptBatch:
        return None
    return header if header.is_transactional and header.producer_id >= 0 else None
