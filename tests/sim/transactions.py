"""Simulated transactional producers of both generations, and the reader that judges them.

    aborted-read    nothing of a transaction that its producer knows to be aborted is ever seen
    torn            after the calm a transaction is seen whole or not at all; whole, if its producer was told so
    no-duplicate    a record is seen at one offset only
    offsets         after the calm a group's offset is that of the last transaction that committed one, seen or not
    no-gap          no batch is called out of order: all of them are sent in order
    stable          the last stable offset never goes back for a client, and reaches the end when all is calm

Producers with the same transactional id fence each other, as a program does that was thought to be dead.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from headrace.wire.batch import CorruptBatch, crc_ok, iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from headrace.wire.records import Record, build_batch, read_records
from headrace.wire.schema import Request
from sim.checks import Checks
from sim.clients import ANSWER_SECONDS_MAX, Directory, Refusal
from sim.host import WALL_START
from sim.wireclient import Lost, WireClient
from sim.world import World

LEDGER = "ledger"
GROUP, TRANSACTION = 0, 1
FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS, FETCH = 4, 4, 3, 12
PRODUCE = {1: 9, 2: 12}
END = {1: 3, 2: 5}
COMMIT_OFFSETS = {1: 3, 2: 5}
ADD_OFFSETS, OFFSET_FETCH = 3, 9
TIMEOUT_MS = 4000
WRITE_SECONDS_MAX = 6.0
READ_COMMITTED = 1
NOT_YET = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)


class Broken(Exception):
    """This transaction, or its producer, cannot go on: whoever holds the id now has decided."""


class Ledger:
    """What producers were told of their transactions, and what the reader saw of them."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self.written: dict[str, list[bytes]] = {}
        self.fates: dict[str, bool] = {}
        self.offsets: dict[str, int] = {}
        """By transaction: what it committed for its producer's group."""
        self.groups: dict[str, int] = {}
        """By producer: the offset of its group after the calm."""
        self._seen: dict[bytes, tuple[int, int]] = {}

    def on_read(self, index: int, offset: int, value: bytes) -> None:
        self._checks.reads += 1
        place = self._seen.setdefault(value, (index, offset))
        if place != (index, offset):
            self._checks.fail("no-duplicate", f"{value!r} is at {place} and at {(index, offset)}")
        if self.fates.get(_label(value)) is False:
            self._checks.fail("aborted-read", f"{value!r} was seen, though its transaction was aborted")

    def on_gap(self, index: int) -> None:
        self._checks.on_gap(LEDGER, index, "a leader")

    def on_fate(self, label: str, committed: bool) -> None:
        self.fates[label] = committed
        self._checks.acks += 1
        if not committed and any(value in self._seen for value in self.written[label]):
            self._checks.fail("aborted-read", f"{label} was seen, and then its producer was told that it is aborted")

    def on_final(self) -> None:
        for label, values in self.written.items():
            seen = sum(value in self._seen for value in values)
            if seen not in (0, len(values)):
                self._checks.fail("torn", f"{label}: {seen} of {len(values)} records are seen")
            if label in self.fates and self.fates[label] is not (seen == len(values)):
                self._checks.fail("torn", f"{label}: told {self.fates[label]}, seen {seen} of {len(values)}")
        for name, found in self.groups.items():
            self._check_offset(name, found)

    def _check_offset(self, name: str, found: int) -> None:
        """A label is written down before its transaction, so they are in order; each has a record, so it can be seen."""
        expected = -1
        for label, offset in self.offsets.items():
            if label.partition("/")[0] == name and any(value in self._seen for value in self.written[label]):
                expected = offset
        if found != expected:
            self._checks.fail("offsets", f"the group of {name} is at {found}, its last transaction said {expected}")


def _label(value: bytes) -> str:
    return value.rpartition(b"/")[0].decode()


class TransactionalProducer:
    def __init__(
        self, world: World, ledger: Ledger, number: int, transactional_id: str, partitions: int, pace: float
    ) -> None:
        self.name = f"t{number}"
        self.is_done = False
        self.stopping = False
        self._id = transactional_id
        self._ledger = ledger
        self._partitions = partitions
        self._pace = pace
        self._rng = world.rng(f"transactional producer {number}")
        self._loop = world.client_loop(f"transactional producer {number}")
        self._directory = Directory(world, self._loop, self._rng)
        self._world = world
        self._generation = 1 + number % 2
        self._identity: tuple[int, int] | None = None
        self._sequences: dict[int, int] = {}
        self._coordinators: dict[int, tuple[str, int]] = {}
        self._count = 0
        world.spawn(self._loop, self._run())

    async def _run(self) -> None:
        while not self.stopping:
            label = f"{self.name}/{self._count}"
            self._count += 1
            self._ledger.written[label] = []
            try:
                if self._identity is None:
                    await self._begin()
                await self._transact(label)
            except Broken as broken:
                self._directory.say(f"{label} is broken: {broken}")
                self._identity = None
                await asyncio.sleep(self._rng.uniform(0.1, 2.0))
            await asyncio.sleep(self._rng.expovariate(1 / self._pace))
        # What was left open is aborted by the next one to begin; nobody else would before its time-out.
        if self._identity is None:
            await self._begin()
        self._ledger.groups[self.name] = await self._committed_offset()
        self.is_done = True

    async def _begin(self) -> None:
        answer = await self._ask_coordinator(InitProducerIdRequest(self._id, TIMEOUT_MS), INIT_PRODUCER_ID, None)
        self._identity = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    async def _transact(self, label: str) -> None:
        assert self._identity is not None
        end = self._loop.time() + WRITE_SECONDS_MAX
        added: set[int] = set()
        complete = True
        for number in range(self._rng.choice((1, 2, 2, 4))):
            index = self._rng.randrange(self._partitions)
            if self._generation == 1 and index not in added:
                topics = [AddPartitionsToTxnTopic(LEDGER, [index])]
                request = AddPartitionsToTxnRequest([], self._id, *self._identity, topics)
                await self._ask_coordinator(request, ADD_PARTITIONS, None)
                added.add(index)
            values = [f"{label}/{number}.{each}".encode() for each in range(self._rng.choice((1, 1, 2, 4)))]
            self._ledger.written[label] += values
            if not await self._write(index, values, end):
                complete = False
                break
        if complete and self._rng.random() < 0.5:
            await self._commit_offsets(label)
        commit = complete and self._rng.random() < 0.8
        request = EndTxnRequest(self._id, *self._identity, commit)
        answer = await self._ask_coordinator(request, END[self._generation], label if commit else None)
        self._ledger.on_fate(label, commit)
        if self._generation == 2:
            self._identity = answer.producer_id, answer.producer_epoch
            self._sequences.clear()
        elif not complete:
            # Whether its last batch is in, it does not know: a new epoch begins with new sequences.
            self._identity = None

    async def _commit_offsets(self, label: str) -> None:
        assert self._identity is not None
        if self._generation == 1:
            await self._ask_coordinator(AddOffsetsToTxnRequest(self._id, *self._identity, self.name), ADD_OFFSETS, None)
        part = TxnOffsetCommitRequestPartition(0, self._count, committed_metadata="")
        topics = [TxnOffsetCommitRequestTopic(LEDGER, [part])]
        request = TxnOffsetCommitRequest(self._id, self.name, *self._identity, topics=topics)
        self._ledger.offsets[label] = self._count
        await self._ask_coordinator(request, COMMIT_OFFSETS[self._generation], None, GROUP)

    async def _committed_offset(self) -> int:
        wanted = OffsetFetchRequestGroup(self.name, topics=[OffsetFetchRequestTopics(LEDGER, partition_indexes=[0])])
        request = OffsetFetchRequest(groups=[wanted], require_stable=True)
        answer = await self._ask_coordinator(request, OFFSET_FETCH, None, GROUP)
        return int(answer.groups[0].topics[0].partitions[0].committed_offset)

    async def _write(self, index: int, values: list[bytes], end: float) -> bool:
        """A batch for each, all on their way at once; what is not acknowledged is sent again, in order.

        False when it took too long: what became of it is unknown, so the transaction must not be committed.
        """
        while values and self._loop.time() < end:
            try:
                link = await self._directory.leader_link(LEDGER, index)
                try:
                    values = await self._send(link, index, values)
                finally:
                    link.close()
            except (Lost, Refusal):
                pass
            if values:
                self._directory.doubt(LEDGER, index)
                await self._directory.back_off()
        return not values

    async def _send(self, link: WireClient, index: int, values: list[bytes]) -> list[bytes]:
        """Those that have to be sent again."""
        sequence = self._sequences.get(index, 0)
        version = PRODUCE[self._generation]
        sent = [link.send(self._request(index, value, sequence + i), version) for i, value in enumerate(values)]
        codes = [_produced(await link.until_answered(future, ANSWER_SECONDS_MAX)) for future in sent]
        for code in codes:
            if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                self._ledger.on_gap(index)
            if code and code not in NOT_YET:
                raise Broken(f"error {code} for a write")
        stored = next((i for i, code in enumerate(codes) if code), len(codes))
        self._sequences[index] = sequence + stored
        return values[stored:]

    def _request(self, index: int, value: bytes, sequence: int) -> ProduceRequest:
        assert self._identity is not None
        stamp = int((WALL_START + self._world.agenda.now) * 1000)
        records = build_batch(
            [Record(timestamp=stamp, value=value)],
            producer_id=self._identity[0],
            producer_epoch=self._identity[1],
            base_sequence=sequence,
            transactional=True,
        )
        part = PartitionProduceData(index, memoryview(records))
        return ProduceRequest(self._id, -1, 2000, [TopicProduceData(LEDGER, partition_data=[part])])

    # -- the coordinator ---------------------------------------------------------------------------------------------

    async def _ask_coordinator(self, request: Request, version: int, label: str | None, kind: int = TRANSACTION) -> Any:
        """Until it answers, one way or the other."""
        while True:
            try:
                link = await self._link(kind)
                try:
                    answer = await link.ask(request, version, 5.0)
                finally:
                    link.close()
                code = _code(answer)
                if code == 0:
                    return answer
                if code not in NOT_YET:
                    raise Broken(f"error {code} for {type(request).__name__} {label or ''}")
                if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                    self._coordinators.pop(kind, None)
            except (Lost, Refusal):
                self._coordinators.pop(kind, None)
            await self._directory.back_off()

    async def _link(self, kind: int) -> WireClient:
        if kind not in self._coordinators:
            link = await self._directory.any()
            try:
                name = self._id if kind == TRANSACTION else self.name
                request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[name])
                found = (await link.ask(request, FIND_COORDINATOR)).coordinators[0]
            finally:
                link.close()
            if found.error_code:
                raise Refusal(f"error {found.error_code}")
            self._coordinators[kind] = found.host, found.port
        return await WireClient.open(self._loop, self._coordinators[kind])


def _produced(answer: Any) -> int:
    return int(answer.responses[0].partition_responses[0].error_code)


def _code(answer: Any) -> int:
    if isinstance(answer, TxnOffsetCommitResponse):
        return int(answer.topics[0].partitions[0].error_code)
    if isinstance(answer, OffsetFetchResponse):
        group = answer.groups[0]
        return int(group.error_code or group.topics[0].partitions[0].error_code)
    if hasattr(answer, "results_by_topic_v3_and_below"):
        return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
    return int(answer.error_code)


class CommittedReader:
    """Follows one partition of the ledger, and sees what a read_committed consumer shows its program.

    With a rack it goes where it is sent (KIP-392); what is stable there may be less than the leader said.
    """

    def __init__(self, world: World, checks: Checks, ledger: Ledger, index: int, rack: str = "") -> None:
        self.position = 0
        self._rack = rack
        self._preferred = -1
        self._index = index
        self._stable = 0
        self._checks = checks
        self._ledger = ledger
        name = f"committed reader {index}{rack and ' of '}{rack}"
        loop = world.client_loop(name)
        self._directory = Directory(world, loop, world.rng(name))
        world.spawn(loop, self._run())

    async def _run(self) -> None:
        while True:
            try:
                link = await self._open()
                try:
                    while True:
                        self._take(await link.ask(self._request(), FETCH))
                finally:
                    link.close()
            except (Lost, Refusal, CorruptBatch):
                self._directory.doubt(LEDGER, self._index)
                await self._directory.back_off()

    async def _open(self) -> WireClient:
        preferred, self._preferred = self._preferred, -1
        if preferred >= 0:
            return await self._directory.link_to(preferred)
        return await self._directory.leader_link(LEDGER, self._index)

    def _request(self) -> FetchRequest:
        wanted = FetchPartition(self._index, -1, self.position, partition_max_bytes=1 << 20)
        topics = [FetchTopic(LEDGER, partitions=[wanted])]
        return FetchRequest(
            max_wait_ms=300, min_bytes=1, isolation_level=READ_COMMITTED, topics=topics, rack_id=self._rack
        )

    def _take(self, answer: Any) -> None:
        part = answer.responses[0].partitions[0]
        if part.error_code:
            raise Refusal(f"error {part.error_code}")
        if part.preferred_read_replica >= 0:
            self._preferred = part.preferred_read_replica
            raise Refusal("a nearer replica has it")
        if 0 <= part.last_stable_offset < self._stable and not self._rack:
            self._checks.fail("stable", f"{LEDGER}-{self._index}: {self._stable}, then {part.last_stable_offset}")
        self._stable = max(self._stable, part.last_stable_offset)
        for offset, value in self._shown(part):
            self._ledger.on_read(self._index, offset, value)

    def _shown(self, part: Any) -> Iterator[tuple[int, bytes]]:
        aborted = [(each.first_offset, each.producer_id) for each in part.aborted_transactions or ()]
        assert aborted == sorted(aborted, key=lambda each: each[0]), "consumers rely on the order"
        skipped: set[int] = set()
        view = memoryview(part.records or b"")
        for position, header in iter_headers(view):
            if not crc_ok(view, position, header.size):
                raise Refusal("the batch is damaged")
            while aborted and aborted[0][0] <= header.last_offset:
                skipped.add(aborted.pop(0)[1])
            if header.is_control:
                skipped.discard(header.producer_id)
            elif header.producer_id not in skipped:
                for record in read_records(view[position : position + header.size]):
                    if record.offset >= self.position:
                        yield record.offset, record.value or b""
            self.position = max(self.position, header.next_offset)
