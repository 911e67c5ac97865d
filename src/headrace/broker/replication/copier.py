"""Copying: what a leader answered about a partition, taken into our own log.

    records ─▶ append      a divergence ─▶ cut      a log that begins later ─▶ start over

A cut, or a new start, is done after the recovery point that makes it safe is on disk, and only in the epoch in which it was
decided. When to ask, and for what, is the fetcher's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from headrace.base.clock import Now
from headrace.base.errors import DiskFull
from headrace.broker.replication.catch_up import CatchUp
from headrace.partition.follow_session import FollowSession, Position
from headrace.partition.partition import Partition
from headrace.replica.follower import base_around, cut_for, sound_batches
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import EpochEndOffset, PartitionData

logger = logging.getLogger("headrace.fetcher")

# After an answer that only a newer image can mend, or a cut that found nothing to agree on.
PARTITION_BACKOFF_SECONDS = 0.1
DISK_FULL_SECONDS = 5.0


class Cut(Protocol):
    def __call__(
        self, partition: Partition, offset: int, cut: Callable[[], None], start: int | None = None
    ) -> Awaitable[None]:
        """Cuts what is at `offset` and above, after that was written down, and the new start of a log that begins anew."""


class CopyHome(NamedTuple):
    """The broker that the copies are on."""

    id: int
    now: Callable[[], Now]
    check_room: Callable[[int], None]
    """Raises DiskFull where copies of so many bytes have no room."""
    cut: Cut
    leave: Callable[[Partition], None]
    """Takes this replica out of the in-sync set."""


class ReplicaCopier:
    def __init__(self, leader_id: int, home: CopyHome, session: FollowSession, catch_up: CatchUp) -> None:
        self._leader_id = leader_id
        self._home = home
        self._session = session
        self._catch_up = catch_up
        # Told once.
        self._is_denied = False

    async def take(self, partition: Partition, position: Position, part: PartitionData, syncing: "Syncing") -> None:
        if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._start_over(partition, position, part)
        elif part.error_code:
            if part.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED and not self._is_denied:
                self._is_denied = True
                logger.error(
                    "broker %(leader)d lets us copy nothing: name this broker's principal in super.users of every broker",
                    {"leader": self._leader_id},
                )
            self._back_off(partition)
        elif part.diverging_epoch is not None:
            await self._cut(partition, part.diverging_epoch, position)
        elif self._has_our_head(partition, part):
            await self._start_over(partition, position, part)
        else:
            if not part.records or not await self._began_inside_a_batch(partition, position, part):
                self._take_word(partition, position, part)
            if partition.until_proven(syncing):
                syncing.add()

    async def _began_inside_a_batch(self, partition: Partition, position: Position, part: PartitionData) -> bool:
        """DeleteRecords may leave a leader's log with a start in the midst of a batch. A replica that begins there has to
        take that batch whole, so its own log begins a little earlier."""
        if partition.log.start_offset < partition.log.end_offset:
            return False
        base_offset = base_around(part.records, partition.log.end_offset)
        if base_offset is None:
            return False

        def restart() -> None:
            if _follows_on(partition, position):
                partition.following.restart_at(base_offset, self._home.now())
                self._take_word(partition, position, part)

        await self._cut_at(partition, base_offset, restart, base_offset)
        return True

    def _take_word(self, partition: Partition, position: Position, part: PartitionData) -> None:
        """The leader saw no divergence below our offset; what it sent, if we could append it, goes on from there."""
        matching_end = self._append(partition, part.records, position) if part.records else position.offset
        partition.following.on_leader_word(part.high_watermark, part.log_start_offset, matching_end)

    def _append(self, partition: Partition, records: memoryview, position: Position) -> int:
        """Up to where our log is now known to be the leader's."""
        end, headers = sound_batches(
            records, partition.log.end_offset, partition.log.state.epochs.latest, position.leader_epoch
        )
        if headers:
            self._catch_up.on_copied(partition, end)
            try:
                self._home.check_room(end)
                partition.following.append_copies(records[:end], headers, self._home.now())
                return partition.log.end_offset
            except DiskFull as error:
                self._on_disk_full(partition, error)
        else:
            logger.warning(
                "%(topic)s-%(partition)d: what broker %(leader)d sent is not sound; asking again",
                {**partition.id._asdict(), "epoch": position.leader_epoch, "leader": self._leader_id},
            )
            self._back_off(partition)
        return position.offset

    async def _cut(self, partition: Partition, diverging: EpochEndOffset, position: Position) -> None:
        own_epoch, own_end = partition.log.state.epochs.end_of(diverging.epoch, -1, partition.log.end_offset)
        offset = cut_for(diverging.epoch, diverging.end_offset, own_epoch, own_end, partition.high_watermark)
        logger.info(
            "%(topic)s-%(partition)d: cutting back from %(end_offset)d to %(offset)d",
            {
                **partition.id._asdict(),
                "epoch": position.leader_epoch,
                "end_offset": partition.log.end_offset,
                "offset": offset,
            },
        )

        def cut() -> None:
            if _follows_on(partition, position):
                partition.following.truncate(offset, self._home.now())

        await self._cut_at(partition, offset, cut)

    def _has_our_head(self, partition: Partition, part: PartitionData) -> bool:
        """The leader has what our log lost at its beginning, and nobody counts on our copy."""
        return part.log_start_offset < partition.log.start_offset and self._lacks_head(partition)

    def _lacks_head(self, partition: Partition) -> bool:
        return partition.log.lacks_head and self._home.id not in partition.state.isr

    def _must_start_over(self, partition: Partition, start: int) -> bool:
        return start > partition.log.end_offset or self._lacks_head(partition)

    async def _start_over(self, partition: Partition, position: Position, part: PartitionData) -> None:
        """Our end is before the leader's start, or our beginning is gone: we begin anew where its log does. Past its end the
        epochs decide."""
        start = part.log_start_offset
        self._back_off(partition)

        def restart() -> None:
            # The disk may have taken its time: what another leader sent meanwhile is counted on.
            if _follows_on(partition, position) and self._must_start_over(partition, start):
                logger.warning(
                    "%(topic)s-%(partition)d: the leader's log starts at %(offset)d; starting over there",
                    {
                        **partition.id._asdict(),
                        "epoch": position.leader_epoch,
                        "leader": self._leader_id,
                        "offset": start,
                    },
                )
                partition.following.restart_at(start, self._home.now())

        if self._must_start_over(partition, start):
            await self._cut_at(partition, min(start, partition.log.start_offset), restart, start)

    async def _cut_at(
        self, partition: Partition, offset: int, cut: Callable[[], None], start: int | None = None
    ) -> None:
        try:
            await self._home.cut(partition, offset, cut, start)
        except DiskFull as error:
            self._on_disk_full(partition, error)

    def _on_disk_full(self, partition: Partition, error: DiskFull) -> None:
        logger.error(
            "%(topic)s-%(partition)d cannot follow: %(cause)s",
            {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": error},
        )
        self._home.leave(partition)
        self._back_off(partition, DISK_FULL_SECONDS)

    def _back_off(self, partition: Partition, seconds: float = PARTITION_BACKOFF_SECONDS) -> None:
        self._session.back_off(partition, asyncio.get_running_loop().time() + seconds)


def _follows_on(partition: Partition, position: Position) -> bool:
    """Whether it still follows in the epoch of the fetch that named this position."""
    return not partition.is_leader and partition.leader_epoch == position.leader_epoch


class Syncing:
    """Waits until all that one response brought is on disk."""

    def __init__(self) -> None:
        self._left = 0
        self._done: asyncio.Future[None] | None = None

    def add(self) -> None:
        self._left += 1

    def is_waiting(self, part: object) -> bool:
        return self._left > 0

    def on_reached(self, part: object) -> None:
        self._left -= 1
        if self._left == 0 and self._done is not None and not self._done.done():
            self._done.set_result(None)

    def on_lost(self, part: object, code: int) -> None:
        self.on_reached(part)

    async def until_done(self) -> None:
        if self._left:
            self._done = asyncio.get_running_loop().create_future()
            await self._done
