"""The logs that new coordinators read, a stretch of one log at a time, however many load.

A damaged batch ends the reading: served without it, a group would go back to an older offset and a transaction to an older
outcome. `Rot` finds a replica that has it.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from headrace.broker.disk.log_reading import LogReading, RotFound
from headrace.partition.partition import Partition
from headrace.wire.batch import BatchHeader, CorruptBatch

# Some hundred records, a few milliseconds: the loop serves others in between.
LOAD_BYTES = 1 << 14


class Damage(Protocol):
    """The damage of this broker's logs: `replication.rot.Rot`."""

    def accepted_end(self, partition: Partition) -> int: ...

    def on_found(self, partition: Partition, rot: RotFound) -> None: ...


class Replayed(Protocol):
    """A core that is read back from its log."""

    def replay(self, batch: memoryview, header: BatchHeader) -> None:
        """Applies a batch of the log."""

    def on_gap(self) -> None:
        """Notes that batches are missing from the log: an unclean election gave them up."""


class LogReplay:
    def __init__(self, damage: Damage, turns: asyncio.Lock) -> None:
        """`turns` is one lock for all that load."""
        self._damage = damage
        self._turns = turns

    async def until_read(self, partition: Partition, end: int, core: Replayed, is_wanted: Callable[[], bool]) -> bool:
        """Replays the log up to `end`, as long as it is wanted; False where it is damaged."""
        reading = LogReading(partition.log, end, self._damage.accepted_end(partition))
        try:
            await self._replay_all(reading, core, is_wanted)
        except RotFound as found:
            self._damage.on_found(partition, found)
            return False
        return True

    async def _replay_all(self, reading: LogReading, core: Replayed, is_wanted: Callable[[], bool]) -> None:
        is_read = False
        while not is_read:
            # A broker that takes over may have fifty logs to read. A stretch of each in one turn of the loop would cost
            # it its lease, and the next life would begin with the same.
            async with self._turns:
                is_read = not (is_wanted() and _replay_stretch(reading, core))
                await asyncio.sleep(0)


def _replay_stretch(reading: LogReading, core: Replayed) -> bool:
    """Whether there may be more behind it."""
    batches = reading.next(LOAD_BYTES)
    if reading.has_gaps:
        core.on_gap()
    for header, batch in batches or ():
        try:
            core.replay(batch, header)
        except CorruptBatch as error:
            reading.on_rot(header.base_offset, str(error))
    return batches is not None
