"""Looks for in-sync followers that stand still, more often than the janitor comes by: acks wait for them meanwhile."""

import asyncio
from typing import Final

from headrace.broker.hosting.moved import Moved
from headrace.broker.membership.view import View

LOOK_SECONDS: Final = 0.5
PER_TURN: Final = 1000


class StallWatch:
    def __init__(self, view: View, moved: Moved) -> None:
        self._view = view
        self._moved = moved

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self._look()

    async def _look(self) -> None:
        seconds_max = self._view.config.number("replica.stall.time.max.ms") / 1000
        if not seconds_max:
            return
        now = self._view.clock.now()
        for count, partition in enumerate(self._moved.restless(), 1):
            partition.in_sync.check_stalled(seconds_max, now)
            if count % PER_TURN == 0:
                await asyncio.sleep(0)
