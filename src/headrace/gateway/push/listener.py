"""One listener of a topic: first by itself, from where it was to the end; then with all others at the live end.

It falls back to reading by itself when it is too slow for the feed, and when the feed was closed, and so never misses
anything that is still there. What retention took meanwhile is told as a gap. Partitions that are added come with the feed.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST
from headrace.gateway.problem import kafka_problem
from headrace.gateway.push.block import Block, Event, Gap
from headrace.gateway.push.feed import BLOCK_BYTES_MAX, Feed
from headrace.gateway.push.hub import Hub
from headrace.gateway.push.positions import Positions, format_positions
from headrace.gateway.push.reading import EventReading
from headrace.gateway.push.start import check_not_too_many
from headrace.gateway.push.stream import Ended
from headrace.wire.codes import ErrorCode

QUIET_SECONDS_MAX = 15.0


class PushListener:
    # There may be ten thousand.
    __slots__ = (
        "_all_partitions",
        "_behind",
        "_ended",
        "_feed",
        "_hub",
        "_last_sign",
        "_number",
        "_sending_since",
        "_woken",
        "on_end",
        "positions",
        "topic",
    )

    def __init__(self, hub: Hub, topic: str, positions: Positions, all_partitions: bool) -> None:
        self.topic = topic
        self.positions = positions
        self._hub = hub
        self._all_partitions = all_partitions
        self._behind = dict.fromkeys(positions)
        self._feed: Feed | None = None
        self._number = 0
        self._woken: asyncio.Future[None] | None = None
        self._ended = ""
        self._last_sign = time.monotonic()
        self._sending_since: float | None = None
        self.on_end: Callable[[], object] = lambda: None

    # -- what it is asked --------------------------------------------------------------------------------------------

    async def next(self) -> Block | None:
        """The next block, once there is one; None when a sign of life is due. Raises Ended, Refused, Disconnected."""
        self._last_sign = time.monotonic()
        self._sending_since = None
        while True:
            if self._ended:
                raise Ended(self._ended)
            if self._feed is None:
                block = await self._read_behind()
            elif self._feed.is_lost(self._number):
                self._fall_behind(self.positions)
                continue
            elif self._feed.has(self._number):
                block = self._take()
            elif not await self._until_more():
                return None
            else:
                continue
            if block is not None:
                self._sending_since = time.monotonic()
                return block

    def wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def end(self, reason: str) -> None:
        self._ended = reason
        self.wake()
        if self._sending_since is not None:
            self.on_end()

    def sweep(self, now: float) -> None:
        seconds_max = self._hub.gateway.settings.push_send_seconds_max
        if self._sending_since is not None:
            if now - self._sending_since > seconds_max:
                self.end(f"nothing was taken for {seconds_max:g} s (push_send_seconds_max)")
        elif now - self._last_sign > QUIET_SECONDS_MAX:
            self.wake()

    # -- with the others ---------------------------------------------------------------------------------------------

    def _take(self) -> Block | None:
        assert self._feed is not None
        shared = self._feed.block(self._number)
        if self._all_partitions and len(shared.before) > len(self.positions):
            self._adopt(shared.before)
            if self._feed is None:
                return None
        self._number += 1
        if shared.before is self.positions or shared.before == self.positions:
            self.positions = shared.after
            return shared
        return self._own_part(shared)

    def _adopt(self, known: Positions) -> None:
        """Partitions that are new to us are read from their beginning: by ourselves, if the others are further."""
        check_not_too_many(self.topic, len(known))
        added = {partition: 0 for partition in known if partition not in self.positions}
        self.positions = dict(sorted({**self.positions, **added}.items()))
        if any(known[partition] for partition in added):
            self._fall_behind(added)

    def _own_part(self, shared: Block) -> Block | None:
        """The listener's own events of a shared block: it is ahead of it, or reads fewer partitions."""
        before = self.positions
        events = [each for each in shared.events if each.record.offset >= before.get(each.partition, _NEVER)]
        self.positions = {each: max(offset, shared.after.get(each, 0)) for each, offset in before.items()}
        return Block(before, events, self.positions) if events else None

    async def _until_more(self) -> bool:
        """False if it is a sign of life that is due."""
        assert self._feed is not None
        feed, number = self._feed, self._number
        self._woken = asyncio.get_running_loop().create_future()
        feed.wait(self)
        try:
            await self._woken
        finally:
            self._woken = None
            feed.forget(self)
        return bool(self._ended) or feed.has(number) or feed.is_lost(number)

    def _fall_behind(self, partitions: Positions) -> None:
        self._feed = None
        self._behind = dict.fromkeys(partitions)

    # -- by itself ---------------------------------------------------------------------------------------------------

    async def _read_behind(self) -> Block | None:
        if not self._behind:
            self._hub.feeds.open(self.topic, self.positions)
        feed = self._hub.feeds.at(self.topic, self.positions)
        if feed is not None:
            self._feed, self._number = feed, feed.number_at(self.positions)
            feed.is_whole |= self._all_partitions
            return None
        if not self._behind:
            self._behind = dict.fromkeys(self.positions)
        return await self._read(next(iter(self._behind)))

    async def _read(self, partition: int) -> Block | None:
        id, offset = TopicPartition(self.topic, partition), self.positions[partition]
        reading = self._hub.readings.take(id, offset)
        if reading is not None and (events := reading.take()):
            return self._taken(id, reading, events)
        return await self._fetch(id, offset)

    async def _fetch(self, id: TopicPartition, offset: int) -> Block | None:
        try:
            async with self._hub.behind_reads:
                fetched = await self._hub.gateway.client.fetch(id, offset, bytes_max=BLOCK_BYTES_MAX, wait_ms=0)
        except Refused as refusal:
            if refusal.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            return await self._skip_gap(id, offset)
        reading = EventReading(id.partition, fetched, offset, len(format_positions(self.positions)))
        events = reading.take()
        if reading.next_offset > offset:
            return self._taken(id, reading, events)
        # At the end; or what is left below it was compacted away.
        del self._behind[id.partition]
        return self._own_block(id.partition, (), max(offset, fetched.last_stable_offset))

    def _taken(self, id: TopicPartition, reading: EventReading, events: Sequence[Event]) -> Block | None:
        self._hub.readings.leave(id, reading)
        return self._own_block(id.partition, events, reading.next_offset)

    async def _skip_gap(self, id: TopicPartition, offset: int) -> Block | None:
        start = (await self._hub.gateway.client.offsets({id: EARLIEST}))[id].offset
        if start <= offset:
            raise kafka_problem(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"{id} does not reach to offset {offset}: is it a new topic?"
            )
        return self._own_block(id.partition, (), start, [Gap(id.partition, offset, start)])

    def _own_block(
        self, partition: int, events: Sequence[Event], next_offset: int, gaps: Sequence[Gap] = ()
    ) -> Block | None:
        before = self.positions
        self.positions = {**before, partition: next_offset}
        return Block(before, events, self.positions, gaps) if events or gaps else None


_NEVER = 1 << 63
