"""Tells the cluster whether this broker has room for clients' writes, so that others lead while it has none.

    below the reserve ─▶ registered as full: the controller gives its leaders away ─▶ well above the reserve ─▶ not full

Meanwhile it follows, until copies have used up their own reserve too, and leads where nobody in sync has room.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.base.errors import Refused
from headrace.cluster.image import Image
from headrace.cluster.room import say_full
from headrace.cluster.store import Commit

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

logger = logging.getLogger("headrace.disk")

LOOK_SECONDS = 0.2


class RoomToLead:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        if self._broker.partitions.is_fenced or not self._plan(self._broker.image):
            # The next registration says it too.
            return
        is_full = self._broker.disk_room.is_full
        try:
            await self._broker.metadata.change(self._plan)
            fields = {"broker": self._broker.id, "news": _FULL if is_full else _ROOMY}
            logger.warning("broker %(broker)d %(news)s", fields)
        except Refused as refusal:
            fields = {"cause": refusal.message}
            logger.warning("the cluster does not know yet that room changed here: %(cause)s", fields)

    def _plan(self, image: Image) -> list[Commit]:
        return say_full(image, self._broker.id, self._broker.epoch, self._broker.disk_room.is_full)


_FULL = "has no room on its disk: in-sync replicas with room lead instead. Free space or lower retention"
_ROOMY = "has room on its disk again, and may lead"
