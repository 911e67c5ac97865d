"""Simulated readers: each follows its partitions from the start and hands every record to the checks.

plain        a whole request for every fetch, from the leader
session      a fetch session (KIP-227), from the leader: names its place only when that has changed, and drops some answers
rack         says where it is and goes where it is sent (KIP-392): what it is told of watermarks may be older there
"""

from collections.abc import Iterator
from typing import Any

from headrace.wire.batch import CorruptBatch, crc_ok, iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.records import Record, read_records
from sim.checks import Checks
from sim.clients import Directory, Refusal
from sim.wireclient import Lost, WireClient
from sim.world import World

KINDS = ("plain", "session", "rack")
FETCH, LIST_OFFSETS = 12, 7
LATEST, EARLIEST = -1, -2
DROPPED = 0.25
RECENT = 20


class Consumer:
    def __init__(self, world: World, checks: Checks, number: int, topic: str, partitions: int) -> None:
        self.name = f"c{number}"
        self.topic = topic
        self.kind = KINDS[number % len(KINDS)]
        self.rng = world.rng(f"consumer {number}")
        self.loop = world.client_loop(f"consumer {number}")
        self.directory = Directory(world, self.loop, self.rng)
        self.checks = checks
        self._readers = [Reader(self, index) for index in range(partitions)]
        for reader in self._readers:
            world.spawn(self.loop, reader.run())

    @property
    def positions(self) -> list[int]:
        return [reader.position for reader in self._readers]


class Reader:
    """One partition of one consumer."""

    def __init__(self, consumer: Consumer, index: int) -> None:
        self.position = 0
        self._consumer = consumer
        self._index = index
        self._rng = consumer.rng
        self._checks = consumer.checks
        self._topic = consumer.topic
        self._preferred = -1
        self._session = (0, 0)
        self._told = -1
        self._epoch = -1
        self._stamps: dict[int, int] = {}
        """By offset, the timestamp of what was read."""

    async def run(self) -> None:
        directory = self._consumer.directory
        while True:
            try:
                link = await self._open()
                try:
                    while True:
                        await self._look(link)
                finally:
                    link.close()
            except (Lost, Refusal, CorruptBatch):
                directory.doubt(self._topic, self._index)
                await directory.back_off()

    async def _open(self) -> WireClient:
        directory, preferred = self._consumer.directory, self._preferred
        self._preferred = -1
        self._session, self._told = (0, 0), -1
        if preferred >= 0:
            return await directory.link_to(preferred)
        return await directory.leader_link(self._topic, self._index, self._on_broker_reply)

    def _on_broker_reply(self, address: str, request: Any, response: Any) -> None:
        parts = [part for topic in getattr(response, "responses", ()) for part in topic.partitions]
        if any(part.error_code == 0 for part in parts):
            self._checks.on_answered(address, "a fetch")

    async def _look(self, link: WireClient) -> None:
        if self._rng.random() < 0.05:
            end = await self._ask(link, LATEST)
            self._checks.on_high_watermark(self._consumer.name, self._topic, self._index, end)
        if self._stamps and self._consumer.kind != "rack" and self._rng.random() < 0.05:
            await self._find_by_time(link)
        answer = await link.ask(self._request(), FETCH)
        if answer.error_code:
            raise Refusal(f"error {answer.error_code}")
        if self._has_session:
            self._session = (answer.session_id, self._session[1] + 1 if answer.session_id else 0)
        for topic in answer.responses:
            for part in topic.partitions:
                if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._checks.on_out_of_range(self._consumer.name, self._topic, self._index, self.position)
                    self.position = max(self.position, await self._ask(link, EARLIEST))
                    # What was read last is not what lies before the new place.
                    self._epoch = -1
                self._take(part)

    @property
    def _has_session(self) -> bool:
        return self._consumer.kind == "session"

    def _request(self) -> FetchRequest:
        wanted = FetchPartition(
            self._index,
            -1,
            self.position,
            last_fetched_epoch=-1 if self._has_session else self._epoch,
            partition_max_bytes=self._rng.choice((1, 4096, 1 << 20)),
        )
        session_id, session_epoch = self._session if self._has_session else (0, -1)
        is_known = session_epoch > 0 and self._told == self.position
        self._told = self.position
        return FetchRequest(
            max_wait_ms=300,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=session_id,
            session_epoch=session_epoch,
            topics=[] if is_known else [FetchTopic(self._topic, partitions=[wanted])],
            rack_id="rack 1" if self._consumer.kind == "rack" else "",
        )

    def _take(self, part: Any) -> None:
        name, topic, index = self._consumer.name, self._topic, self._index
        if part.error_code:
            raise Refusal(f"error {part.error_code}")
        if part.diverging_epoch is not None and part.diverging_epoch.epoch >= 0:
            self._checks.fail("agreed", f"{name} is to cut {topic}-{index}, which it has read up to {self.position}")
        if part.preferred_read_replica >= 0:
            self._preferred = part.preferred_read_replica
            raise Refusal("a nearer replica has it")
        if self._consumer.kind != "rack":
            self._checks.on_high_watermark(name, topic, index, part.high_watermark)
        if self._has_session and self._rng.random() < DROPPED:
            return
        for epoch, record in records_of(part.records):
            if record.offset >= self.position:
                value = record.value or b""
                self._checks.on_read(name, topic, index, record.offset, value, self.position, part.high_watermark)
                self.position, self._epoch = record.offset + 1, epoch
                self._stamps[record.offset] = record.timestamp

    async def _find_by_time(self, link: WireClient) -> None:
        """The time of a record that was read not long ago, or one that is a little later."""
        last = next(reversed(self._stamps))
        near = self._stamps.get(last - self._rng.randrange(RECENT), self._stamps[last])
        timestamp = near + self._rng.choice((0, 0, 1))
        found = await self._ask(link, timestamp)
        if not self._wrong(timestamp, found, 0):
            return
        # To ask what was deleted is to look at all brokers.
        if wrong := self._wrong(timestamp, found, self._checks.deleted_before(self._topic, self._index)):
            self._checks.fail("by-time", f"{self._topic}-{self._index} at the time {timestamp}: found {found}, {wrong}")

    def _wrong(self, timestamp: int, found: int, deleted: int) -> str:
        """The first record that is as new is to be found; what was deleted meanwhile may be found too, or not."""
        if self._stamps.get(found, timestamp) < timestamp:
            return f"which is of {self._stamps[found]}"
        first = next((each for each, stamp in self._stamps.items() if stamp >= timestamp and each >= deleted), None)
        if first is None or found == first or 0 <= found < deleted:
            return ""
        return f"but {first} is of {self._stamps[first]}"

    async def _ask(self, link: WireClient, timestamp: int) -> int:
        topics = [ListOffsetsTopic(self._topic, [ListOffsetsPartition(self._index, -1, timestamp)])]
        answer = await link.ask(ListOffsetsRequest(-1, 0, topics), LIST_OFFSETS)
        part = answer.topics[0].partitions[0]
        if part.error_code:
            raise Refusal(f"error {part.error_code}")
        return int(part.offset)


def records_of(records: memoryview | None) -> Iterator[tuple[int, Record]]:
    """Each with the leader epoch of its batch."""
    view = memoryview(records or b"")
    for position, header in iter_headers(view):
        if not crc_ok(view, position, header.size):
            raise Refusal("the batch is damaged")
        for record in read_records(view[position : position + header.size]):
            yield header.leader_epoch, record
