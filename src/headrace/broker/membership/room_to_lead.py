"""Tells the cluster whether this broker has room for clients' writes, so that others lead while it has none.

    below the reserve ─▶ registered as full: the controller gives its leaders away ─▶ well above the reserve ─▶ not full

Meanwhile it follows, until copies have used up their own reserve too, and leads where nobody in sync has room.
"""

import asyncio
import logging

from headrace.base.errors import Refused
from headrace.broker.disk.room import DiskRoom
from headrace.broker.membership.view import View
from headrace.broker.partitions import Partitions
from headrace.cluster.image import Image
from headrace.cluster.room import say_full
from headrace.cluster.store import Commit

logger = logging.getLogger("headrace.disk")

LOOK_SECONDS = 0.2


class RoomToLead:
    def __init__(self, view: View, partitions: Partitions, disk_room: DiskRoom) -> None:
        self._view = view
        self._partitions = partitions
        self._disk_room = disk_room

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        if self._partitions.is_fenced or not self._plan(self._view.image):
            # The next registration says it too.
            return
        is_full = self._disk_room.is_full
        try:
            await self._view.metadata.change(self._plan)
            fields = {"broker": self._view.id, "news": _FULL if is_full else _ROOMY}
            logger.warning("broker %(broker)d %(news)s", fields)
        except Refused as refusal:
            fields = {"cause": refusal.message}
            logger.warning("the cluster does not know yet that room changed here: %(cause)s", fields)

    def _plan(self, image: Image) -> list[Commit]:
        return say_full(image, self._view.id, self._view.epoch, self._disk_room.is_full)


_FULL = "has no room on its disk: in-sync replicas with room lead instead. Free space or lower retention"
_ROOMY = "has room on its disk again, and may lead"
