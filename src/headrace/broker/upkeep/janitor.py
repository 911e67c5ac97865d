"""A broker's chores beside serving: small rounds on a timer, each with a bound on its work.

Every second: silent connections, room on the disk and what could not be opened without it, relaxed topics whose
`flush.ms` is over. Every few seconds: the checkpoint of recovery points, so that the scan after a crash is short. Now
and then: producers nobody heard of for a day, and committed offsets that have had their time.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.base.errors import DiskFull
from headrace.broker.coordinators.led import LedCoordinator

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

logger = logging.getLogger("headrace.janitor")

TICK_SECONDS = 1.0
CHECKPOINT_TICKS = 5
EXPIRY_TICKS = 600
PER_TURN = 1000


class Janitor:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    async def run(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            ticks += 1
            self._broker.listeners.set_limits(self._broker.view.config)
            self._broker.listeners.sweep()
            self._broker.disk_room.look()
            await self._open_left_over()
            await self._tick_partitions()
            if ticks % CHECKPOINT_TICKS == 0:
                await self._save_checkpoints()
            if ticks % self._offsets_ticks() == 0:
                _expire_all(self._broker.coordinators)
            if ticks % EXPIRY_TICKS == 0:
                await self._expire_producers()
                _expire_all(self._broker.transactions)

    def _offsets_ticks(self) -> int:
        return max(
            1, round(self._broker.view.config.number("offsets.retention.check.interval.ms") / 1000 / TICK_SECONDS)
        )

    async def _open_left_over(self) -> None:
        if self._broker.hosting.openings.needs_room and not self._broker.disk_room.is_low:
            await self._broker.metadata.show_again()

    async def _save_checkpoints(self) -> None:
        try:
            await self._broker.hosting.checkpoints.save()
            await self._broker.seen_revision.save(self._broker.image.revision)
        except DiskFull as full:
            # The old ones still hold: they only make the scan after a crash longer.
            logger.error("cannot write checkpoints: %(cause)s. Free space or lower retention", {"cause": full})
        # Below the starts that could be written down.
        await self._broker.hosting.checkpoints.remove_retired()

    async def _tick_partitions(self) -> None:
        now = self._broker.clock.now()
        lag_seconds_max = self._broker.view.config.number("replica.lag.time.max.ms") / 1000
        for count, partition in enumerate(self._broker.hosting.checkpoints.moved.restless(), 1):
            partition.upkeep.on_tick(now)
            partition.in_sync.check_followers(self._broker.view.live, lag_seconds_max, now)
            if count % PER_TURN == 0:
                await asyncio.sleep(0)

    async def _expire_producers(self) -> None:
        now = self._broker.clock.now()
        for count, partition in enumerate(list(self._broker.partitions), 1):
            partition.log.expire_producers(now)
            if count % PER_TURN == 0:
                await asyncio.sleep(0)


def _expire_all(coordinators: Iterable[LedCoordinator]) -> None:
    for coordinator in coordinators:
        coordinator.expire()
