"""Copies that the cluster must not count on, found after this broker was registered: others lead, and are in sync.

    cannot be opened, or has a hole ─▶ out of ISR and ELR, another in sync leads ─▶ opened, and followed like any other

At the start the registration says so (`cluster.rejoin`). Later nobody would: a broker that is alive and leads what it
cannot open keeps it from everybody. The last in sync is marked if it has a hole, and offline until somebody decides.
"""

import asyncio
import logging

from headrace.base.errors import Refused
from headrace.broker.hosting.doubts import CopyDoubts
from headrace.broker.membership.view import View
from headrace.broker.partitions import Partitions
from headrace.cluster.damage import stand_down
from headrace.cluster.image import Image
from headrace.cluster.store import Commit

logger = logging.getLogger("headrace.partitions")

LOOK_SECONDS = 0.5


class DoubtfulCopies:
    def __init__(self, view: View, partitions: Partitions, doubts: CopyDoubts) -> None:
        self._view = view
        self._partitions = partitions
        self._doubts = doubts

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        if self._partitions.is_fenced:
            # The next registration names them all.
            return
        for topic_id, index in self._doubts.all:
            if self._plan(self._view.image, topic_id, index):
                await self._stand_down(topic_id, index)

    def _plan(self, image: Image, topic_id: bytes, index: int) -> list[Commit]:
        """Nothing for one that is sound by now, or the last in sync and may be."""
        doubt = self._doubts.all.get((topic_id, index))
        return [] if doubt is None else stand_down(image, self._view.id, topic_id, index, self._view.live, doubt)

    async def _stand_down(self, topic_id: bytes, index: int) -> None:
        view = self._view
        topic = view.image.topic_by_id(topic_id)
        assert topic is not None, "it has just been planned for"
        about = {"topic": topic.name, "partition": index, "epoch": topic.partitions[index].leader_epoch}
        try:
            await view.metadata.change(lambda image: self._plan(image, topic_id, index))
            logger.warning(
                "%(topic)s-%(partition)d leaves the in-sync replicas: broker %(broker)d has no sound copy of it",
                {**about, "broker": view.id},
            )
        except Refused as refusal:
            logger.warning(
                "%(topic)s-%(partition)d does not stand down yet: %(cause)s",
                {**about, "cause": refusal.message},
            )
