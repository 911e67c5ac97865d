"""Rot that was found in a log of this broker while it runs, and what becomes of the partition.

    found ─▶ stand down: another in sync leads ─▶ cut at the damaged batch ─▶ follow, and fetch it again
               └─ nobody else is in sync: offline and marked damaged, until somebody decides for an unclean election

Everything else on the broker goes on. Nothing is followed while the rot is still there: at the end of its log the replica
would be taken for one that is in sync.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.base.errors import DiskFull, Refused
from headrace.broker.disk.log_reading import RotFound
from headrace.cluster.damage import is_claimed, stand_down
from headrace.partition.partition import Partition

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

logger = logging.getLogger("headrace.rot")

AGAIN_SECONDS = 0.5


class Rot:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._found: dict[Partition, int] = {}
        """The offset of the first damaged batch."""
        self._accepted: dict[Partition, int] = {}
        """The end of its log when somebody decided to go on without what is damaged below it."""

    def is_known_in(self, partition: Partition) -> bool:
        return partition in self._found

    def accepted_end(self, partition: Partition) -> int:
        """Damage below this offset is passed over: an election decided so when the log ended there, or the topic's setting
        does. Only on the last copy in sync. Any other has a sound one to be fetched from."""
        if partition.state.isr != (self._broker.id,):
            return 0
        if partition.config.unclean_leader_election_enable:
            return partition.log.end_offset
        return self._accepted.get(partition, 0)

    def on_found(self, partition: Partition, rot: RotFound) -> None:
        if partition in self._found:
            return
        logger.error(
            "%(topic)s-%(partition)d is damaged: %(cause)s. Another in-sync replica takes over, and this one fetches it "
            "again. If there is none the partition is offline: put the file back from a copy, or, to go on without the "
            "batch, set unclean.leader.election.enable=true on %(topic)s",
            {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": rot, "offset": rot.offset},
        )
        self._found[partition] = rot.offset
        self._broker.tasks.start(f"mend {partition.id}", self._mend(partition, rot.offset))

    async def _mend(self, partition: Partition, offset: int) -> None:
        was_marked = False
        while not partition.is_gone and partition in self._found:
            if self._broker.id in partition.state.damaged:
                was_marked = True
            elif was_marked and partition.is_leader:
                self._accept(partition)
                return
            elif is_claimed(partition.state, self._broker.id):
                await self._stand_down(partition)
            elif await self._cut(partition, offset):
                return
            await asyncio.sleep(AGAIN_SECONDS)
        self._found.pop(partition, None)

    def _accept(self, partition: Partition) -> None:
        logger.error(
            "%(topic)s-%(partition)d is led by an unclean election, without what is damaged in it",
            {**partition.id._asdict(), "epoch": partition.leader_epoch},
        )
        self._accepted[partition] = partition.log.end_offset
        del self._found[partition]

    async def _stand_down(self, partition: Partition) -> None:
        broker, index = self._broker, partition.id.partition
        try:
            await broker.metadata.change(
                lambda image: stand_down(image, broker.id, partition.topic_id, index, broker.view.live)
            )
        except Refused as refusal:
            logger.warning(
                "%(topic)s-%(partition)d does not stand down yet: %(cause)s",
                {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": refusal.message},
            )

    async def _cut(self, partition: Partition, offset: int) -> bool:
        """Whether it is done, and the rest is fetched again."""
        broker = self._broker
        is_cut = False

        def cut() -> None:
            nonlocal is_cut
            if not is_claimed(partition.state, broker.id):
                partition.following.truncate(offset, broker.clock.now())
                is_cut = True

        try:
            await broker.hosting.checkpoints.before_cut(partition, offset, cut)
        except DiskFull as full:
            logger.error(
                "%(topic)s-%(partition)d cannot be cut yet: %(cause)s",
                {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": full},
            )
        if is_cut:
            logger.warning(
                "%(topic)s-%(partition)d is cut at offset %(offset)d, and fetched again from there",
                {**partition.id._asdict(), "epoch": partition.leader_epoch, "offset": offset},
            )
            self._found.pop(partition, None)
            if not broker.partitions.is_fenced:
                broker.fetchers.update([partition])
        return is_cut
