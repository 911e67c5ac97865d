"""The opening of one partition: its directory is claimed, its log is opened, and what recovery says of it is judged.

`claim_all` waits for the disk and runs in a thread; the rest is for the loop.
"""

import logging
from collections.abc import Container
from typing import NamedTuple

from headrace.base.clock import Clock
from headrace.base.errors import DiskFull
from headrace.base.ids import TopicPartition
from headrace.broker.checkpoints import Checkpoints
from headrace.broker.disk.partition_directories import Unclaimed, Vanished
from headrace.broker.hosting.doubts import CopyDoubts
from headrace.broker.hosting.log_files import LogFiles
from headrace.broker.hosting.topic_settings import log_config
from headrace.cluster.entities import Topic
from headrace.cluster.rejoin import Doubt
from headrace.cluster.topic_config import TopicConfig
from headrace.log.config import LogConfig
from headrace.log.opening import open_log
from headrace.log.recovery import RecoveryReport
from headrace.partition.partition import Partition
from headrace.partition.ready import Ready
from headrace.partition.role import checkpoint_name

logger = logging.getLogger("headrace.partitions")

Claim = bool | Exception
"""Whether the directory is new, or why it cannot be had."""


class LifeBefore(NamedTuple):
    """How the broker's process before this one ended."""

    was_clean: bool
    left_page_cache: bool
    """Only the process died: whatever it wrote is there, synced or not."""


class WantedPartition(NamedTuple):
    """A partition that is to be opened."""

    topic: Topic
    number: int
    settings: TopicConfig

    @property
    def id(self) -> TopicPartition:
        return TopicPartition(self.topic.name, self.number)

    @property
    def written_as(self) -> TopicPartition:
        return checkpoint_name(self.topic.id, self.number)

    @property
    def leader_epoch(self) -> int:
        return self.topic.partitions[self.number].leader_epoch


class Opener:
    def __init__(
        self,
        broker_id: int,
        files: LogFiles,
        checkpoints: Checkpoints,
        doubts: CopyDoubts,
        clock: Clock,
        ready: Ready[Partition],
        before: LifeBefore,
    ) -> None:
        self._broker_id = broker_id
        self._files = files
        self._checkpoints = checkpoints
        self._doubts = doubts
        self._clock = clock
        self._ready = ready
        self._before = before

    def claim_all(self, turn: list[WantedPartition], known: Container[TopicPartition]) -> list[Claim]:
        claims: list[Claim] = []
        for wanted in turn:
            try:
                is_known = wanted.written_as in known
                claims.append(self._files.directories.claim(wanted.id, wanted.topic.id, is_known))
            except (DiskFull, Unclaimed, Vanished, OSError) as cause:
                claims.append(cause)
        return claims

    def open(self, wanted: WantedPartition, limits: LogConfig, is_new: bool) -> Partition:
        written_as, checkpoints = wanted.written_as, self._checkpoints
        recovery_point = checkpoints.recovery_points.get(written_as, 0)
        log, report = open_log(
            self._files.pool,
            self._files.directories.of(wanted.id),
            log_config(wanted.settings, limits),
            self._clock.now(),
            recovery_point=recovery_point,
            clean=self._before.was_clean and not is_new,
            start_offset=checkpoints.start_offsets.get(written_as),
        )
        # What was written down as synced is there, or known to be lost.
        assert recovery_point <= log.end_offset or report.below_recovery_point, (wanted, recovery_point, log.end_offset)
        high_watermark = checkpoints.high_watermarks.get(written_as, 0)
        # A relaxed log has no recovery point to speak of, but what was committed was in the page cache, and that lived.
        lacks_committed = self._before.left_page_cache and log.end_offset < high_watermark
        lost_page_cache = not (self._before.left_page_cache or self._before.was_clean)
        lost_memory = lost_page_cache and written_as in checkpoints.relaxed
        self._note_damage(wanted, report, lacks_committed, lost_memory)
        return Partition(
            wanted.id,
            wanted.topic.id,
            self._broker_id,
            log,
            wanted.settings,
            wanted.topic.partitions[wanted.number],
            high_watermark,
            self._ready,
            self._clock.now(),
        )

    def sync_names(self) -> None:
        """Waits for the disk too: the directories of all partitions are durable."""
        self._files.directories.sync()

    def discard(self, partition: Partition) -> None:
        """Takes the log of one that is no more ours off the disk, and what was written down of it."""
        self._checkpoints.forget(partition.written_as)
        self._files.remove(partition.log)

    def _note_damage(
        self, wanted: WantedPartition, report: RecoveryReport, lacks_committed: bool, lost_memory: bool
    ) -> None:
        """A torn end is what a crash leaves. A hole in what was known to be on disk is damage, and is not led from.

        A sound batch behind the cut is rot if the page cache lived. If it did not, it may also be writes that a power
        cut reordered before their sync: then others are to lead, if there are any. `lost_memory`: acks rested on memory,
        and that is gone, though the topic may be durable by now.
        """
        about = {**wanted.id._asdict(), "epoch": wanted.leader_epoch, "offset": report.cut_offset}
        topic_id = wanted.topic.id
        if report.cut_bytes:
            logger.warning(
                "%(topic)s-%(partition)d: cut %(cut_bytes)d bytes that are not sound, at offset %(offset)s",
                {**about, "cut_bytes": report.cut_bytes},
            )
        has_hole = report.valid_batch_after_cut or report.was_damaged or report.lacks_head
        is_rot = has_hole and self._before.left_page_cache
        if report.below_recovery_point or lacks_committed or is_rot:
            logger.error(
                "%(topic)s-%(partition)d is damaged at offset %(offset)s: it must catch up before it may lead",
                about,
            )
            self._doubts.note(topic_id, wanted.number, Doubt.DAMAGED)
        elif lost_memory:
            self._doubts.note(topic_id, wanted.number, Doubt.UNSYNCED)
        elif has_hole:
            self._doubts.note(topic_id, wanted.number, Doubt.UNSURE)
