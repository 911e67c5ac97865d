"""Looks for in-sync followers that stand still, more often than the janitor comes by: acks wait for them meanwhile."""

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

LOOK_SECONDS: Final = 0.5
PER_TURN: Final = 1000


class StallWatch:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self._look()

    async def _look(self) -> None:
        seconds_max = self._broker.config.number("replica.stall.time.max.ms") / 1000
        if not seconds_max:
            return
        now = self._broker.clock.now()
        for count, partition in enumerate(self._broker.partitions.restless(), 1):
            partition.in_sync.check_stalled(seconds_max, now)
            if count % PER_TURN == 0:
                await asyncio.sleep(0)
