"""The live end of one topic: its latest blocks, shared by all listeners that keep up. No I/O.

A listener has a number: of the block it takes next. There are no queues per listener; the blocks that are kept are the
one bound for all. Who is too slow finds its block gone, and reads by itself until it has caught up.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from headrace.gateway.push.block import Block, Event
from headrace.gateway.push.positions import Positions, format_positions

# A listener that takes nothing holds one block in its socket's buffer, whatever else happens.
BLOCK_BYTES_MAX = 64 * 1024
UNUSED_SECONDS_MAX = 30.0


class Waiting(Protocol):
    def wake(self) -> None: ...


class Feed:
    def __init__(self, topic: str, now: float) -> None:
        self.topic = topic
        self.is_closed = False
        self.is_whole = False
        """Whether somebody listens to all partitions, those that are added later too."""
        self.positions: Positions = {}
        """The position after the last event read, by partition. Replaced, never changed: blocks and listeners keep it."""
        self._last_used = now
        self._floor: dict[int, int] = {}
        self._reading: set[int] = set()
        self._blocks: deque[Block] = deque()
        self._next_number = 0
        self._waiting: dict[Waiting, None] = {}

    # -- the reader's side -------------------------------------------------------------------------------------------

    def add(self, positions: Positions) -> None:
        """More partitions, from these offsets on. Their records are taken once the reader says that it has begun."""
        self._floor |= positions
        self.positions = dict(sorted({**self.positions, **positions}.items()))

    def begin(self, partitions: Iterable[int]) -> None:
        """Begins to read these partitions; an event that arrives before is of an earlier reading, from other offsets."""
        self._reading.update(partitions)

    def append(self, events: Iterable[Event]) -> list[Block]:
        """Appends the events; returns the new blocks, to be counted."""
        made: list[Block] = []
        fresh = [each for each in events if each.partition in self._reading]
        for part in parts(fresh, len(format_positions(self.positions))):
            after = dict(self.positions)
            new = [each for each in part if each.record.offset >= after[each.partition]]
            for each in new:
                after[each.partition] = each.record.offset + 1
            if new:
                made.append(Block(self.positions, new, after))
                self.positions = after
        self._blocks += made
        self._next_number += len(made)
        if made:
            self._wake_all()
        return made

    def drop_oldest(self) -> None:
        self._floor |= self._blocks.popleft().after

    def close(self) -> None:
        """Listeners go on by themselves."""
        self.is_closed = True
        self._blocks.clear()
        self._wake_all()

    def is_unused(self, now: float) -> bool:
        if self._waiting:
            self._last_used = now
        return now - self._last_used > UNUSED_SECONDS_MAX

    def _wake_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for each in waiting:
            each.wake()

    # -- the listeners' side -----------------------------------------------------------------------------------------

    def covers(self, positions: Positions) -> bool:
        """Whether whoever is there needs nothing but what is here, or will be."""
        floor = self._floor
        return all(partition in floor and offset >= floor[partition] for partition, offset in positions.items())

    def number_at(self, positions: Positions) -> int:
        """The first block with news for whoever is there."""
        if all(offset >= self.positions[partition] for partition, offset in positions.items()):
            return self._next_number
        first = self._next_number - len(self._blocks)
        for index, block in enumerate(self._blocks):
            if any(block.after.get(partition, 0) > offset for partition, offset in positions.items()):
                return first + index
        return self._next_number

    def has(self, number: int) -> bool:
        return number < self._next_number

    def is_lost(self, number: int) -> bool:
        return self.is_closed or number < self._next_number - len(self._blocks)

    def block(self, number: int) -> Block:
        return self._blocks[number - self._next_number]

    def wait(self, waiting: Waiting) -> None:
        self._waiting[waiting] = None

    def forget(self, waiting: Waiting) -> None:
        self._waiting.pop(waiting, None)


def parts(events: Iterable[Event], id_bytes: int) -> Iterator[Sequence[Event]]:
    """In pieces of about BLOCK_BYTES_MAX, taken from `events` as they are asked for. Each event is sent with an id."""
    part: list[Event] = []
    size = 0
    for event in events:
        part.append(event)
        size += event.size + id_bytes
        if size >= BLOCK_BYTES_MAX:
            yield part
            part, size = [], 0
    if part:
        yield part
