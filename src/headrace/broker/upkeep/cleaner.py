"""Compaction of the partitions on this broker: which is next, a process to do it, and the swap of what it made.

    look at all compacted logs ─▶ the dirtiest that is due ─▶ a niced process cleans it, group by group
                 ▲                                                      │ each group
                 └── cleaned offsets written down ◀── swapped in, the directory synced in a thread between the steps

Each replica cleans by itself, only what is committed, decided and on disk, and never the active segment. A compaction that
fails costs nothing but its time: the log is as it was, and is tried again later.

While a replica is not in sync, tombstones and markers stay however old they are. It may have what they end, a record or a
transaction, and not them: without them that record would be back when it leads, and that transaction would never end.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import NamedTuple, TypeVar

from headrace.base.clock import Now
from headrace.base.disk import Disk
from headrace.base.errors import DiskFull
from headrace.base.ids import TopicPartition
from headrace.base.settings import LONG_MAX
from headrace.broker.disk.room import DiskRoom
from headrace.broker.membership.view import View
from headrace.broker.partitions import Partitions
from headrace.broker.upkeep.clean_process import Cleaning, CleaningFailed
from headrace.broker.upkeep.credible_time import CredibleTime
from headrace.log import checkpoint
from headrace.log.clean_batch import NO_CODEC
from headrace.log.clean_job import CleanJob, CleanReport, SealedSegment
from headrace.log.cleanable import Dirt, dirt, is_due
from headrace.log.segment import Segment
from headrace.log.swap import CleanedGroup, begin_swap
from headrace.log.swap_files import sweep_cleaned
from headrace.log.times import first_timestamp
from headrace.partition.admission import CODEC_BY_NAME
from headrace.partition.partition import Partition
from headrace.wire.batch import CorruptBatch

logger = logging.getLogger("headrace.cleaner")
T = TypeVar("T")

PER_TURN = 200
RETRY_SECONDS = 300.0
AGAIN_SECONDS = 10.0
# However slow the disk: below this rate something is wrong with the process.
BYTES_PER_SECOND_MIN = 1 << 20
SECONDS_MIN = 60.0


class Overtaken(Exception):
    """The log was cut, or lost its oldest segments, while it was cleaned: what was made of it is of no use."""


class DirtyLog(NamedTuple):
    partition: Partition
    dirt: Dirt
    first_dirty_offset: int


class Cleaner:
    def __init__(
        self,
        view: View,
        partitions: Partitions,
        credible_time: CredibleTime,
        disk: Disk,
        disk_room: DiskRoom,
        threads: Executor,
        begin: Callable[[CleanJob], Cleaning],
    ) -> None:
        self.runs = 0
        self.failures = 0
        self.bytes_read = 0
        self.bytes_written = 0
        self.seconds = 0.0
        self._view = view
        self._partitions = partitions
        self._credible_time = credible_time
        self._disk = disk
        self._disk_room = disk_room
        self._threads = threads
        self._begin = begin
        self._path = f"{disk_room.path}/cleaned-offsets"
        # Without it, or with an older one, more is cleaned than need be, and nothing else is wrong.
        self._cleaned = checkpoint.load(disk, self._path).offsets
        self._tombstones_due: dict[TopicPartition, int] = {}
        self._not_before: dict[TopicPartition, float] = {}
        self._number = 0

    async def run(self) -> None:
        while True:
            due = await self._due()
            at_once = self._view.config.number("log.cleaner.threads")
            if due and at_once:
                await asyncio.gather(*(self._clean(each) for each in due[:at_once]))
            else:
                await asyncio.sleep(max(0.1, self._view.config.number("log.cleaner.backoff.ms") / 1000))

    # -- what is next ------------------------------------------------------------------------------------------------

    async def _due(self) -> list[DirtyLog]:
        """The dirtiest first."""
        found = []
        now = self._now()
        for count, partition in enumerate(list(self._partitions), 1):
            if partition.config.compacts and not partition.is_gone:
                try:
                    due = self._look(partition, now)
                except (CorruptBatch, DiskFull) as error:
                    self._on_failed(partition, error)
                    continue
                if due is not None:
                    found.append(due)
            if count % PER_TURN == 0:
                await asyncio.sleep(0)
        return sorted(found, key=lambda each: -each.dirt.ratio)

    def _look(self, partition: Partition, now: Now) -> DirtyLog | None:
        name, store, config = partition.written_as, partition.log, partition.config
        if now.mono < self._not_before.get(name, 0.0):
            return None
        max_lag_ms = config.max_compaction_lag_ms
        if max_lag_ms < LONG_MAX:
            partition.upkeep.roll_if_older(now.wall - max_lag_ms, now)
        if len(store.segments.all) == 1:
            return None
        first_dirty = max(self._cleaned.get(name, 0), store.segments.all[0].base_offset)
        young_since_ms = now.wall - config.min_compaction_lag_ms if config.min_compaction_lag_ms else LONG_MAX
        bound = min(partition.reads.last_stable_offset, store.sync.synced_end)
        found = dirt(store.segments.all, first_dirty, bound, young_since_ms)
        first_dirty = min(first_dirty, found.end_offset)
        oldest_ms = _oldest_ms(store.segments.all, first_dirty) if max_lag_ms < LONG_MAX and found.dirty_bytes else None
        are_tombstones_due = now.wall >= self._tombstones_due.get(name, LONG_MAX) and found.clean_bytes > 0
        if (are_tombstones_due and self._may_forget(partition)) or is_due(
            found, config.min_cleanable_dirty_ratio, oldest_ms, now.wall - max_lag_ms
        ):
            return DirtyLog(partition, found, first_dirty)
        return None

    def _now(self) -> Now:
        return self._credible_time.of(self._view.clock.now())

    def _may_forget(self, partition: Partition) -> bool:
        """Everybody has what is committed: as the newest metadata say, not those of a broker that was cut off."""
        state = partition.state
        return len(state.isr) == len(state.replicas) and not self._partitions.is_fenced

    # -- doing it ----------------------------------------------------------------------------------------------------

    async def _clean(self, due: DirtyLog) -> None:
        partition = due.partition
        began = time.monotonic()
        old = [segment for segment in partition.log.segments.all[:-1] if segment.next_offset <= due.dirt.end_offset]
        if partition.is_gone or not old:
            # Cut or gone since we looked at it.
            return
        try:
            report = await self._run(partition, self._job(due, old), old)
        except Overtaken:
            self._not_before[partition.written_as] = self._view.clock.now().mono + AGAIN_SECONDS
            return
        except (CleaningFailed, TimeoutError, DiskFull, OSError) as error:
            if not partition.is_gone:
                self._on_failed(partition, error)
            return
        self.runs += 1
        self.seconds += time.monotonic() - began
        self.bytes_read += report.bytes_read
        self.bytes_written += report.bytes_written
        await self._write_down(partition, report)

    def _on_failed(self, partition: Partition, error: Exception) -> None:
        self.failures += 1
        self._not_before[partition.written_as] = self._view.clock.now().mono + RETRY_SECONDS
        logger.error(
            "%(topic)s-%(partition)d was not compacted: %(cause)s. It is tried again in %(retry_s).0f s",
            {
                **partition.id._asdict(),
                "epoch": partition.leader_epoch,
                "cause": error or "time is up",
                "retry_s": RETRY_SECONDS,
            },
        )

    def _job(self, due: DirtyLog, old: list[Segment]) -> CleanJob:
        partition, config = due.partition, self._view.config
        store, topic = partition.log, due.partition.config
        self._number += 1
        dirty_base = next((s.base_offset for s in old if s.next_offset > due.first_dirty_offset), due.dirt.end_offset)
        return CleanJob(
            directory=store.path,
            segments=[SealedSegment(each.base_offset, each.next_offset, each.size) for each in old],
            first_dirty_offset=due.first_dirty_offset,
            start_offset=store.start_offset,
            last_batches=[state.batches[-1][2] for _, state in store.state.producers.items() if state.batches],
            producers=[producer_id for producer_id, _ in store.state.producers.items()],
            aborted=[*store.state.transactions.aborted.between(old[0].base_offset, due.dirt.end_offset)],
            aborted_dirty=[*store.state.transactions.aborted.between(dirty_base, due.dirt.end_offset)],
            now_ms=self._now().wall,
            # What may go has been there for longer than metadata may be old: see `_may_forget`.
            delete_retention_ms=max(topic.delete_retention_ms, config.number("broker.session.timeout.ms")),
            may_forget=self._may_forget(partition),
            codec=NO_CODEC if topic.compression_type == "producer" else CODEC_BY_NAME[topic.compression_type],
            segment_bytes=topic.segment_bytes,
            index_interval_bytes=topic.index_interval_bytes,
            memory_bytes=config.number("log.cleaner.dedupe.buffer.size"),
            bytes_per_second=float(str(config.value("log.cleaner.io.max.bytes.per.second"))),
            free_bytes_min=self._disk_room.reserve_bytes,
            run=f"{self._view.epoch}-{self._number}",
        )

    async def _run(self, partition: Partition, job: CleanJob, old: list[Segment]) -> CleanReport:
        truncations = partition.log.sync.truncations
        size = sum(segment.size for segment in old)
        seconds_max = SECONDS_MIN + 4 * size / min(BYTES_PER_SECOND_MIN, job.bytes_per_second)
        cleaning = await self._in_thread(self._begin, job)
        reading: asyncio.Future[CleanedGroup | CleanReport] | None = None
        try:
            async with asyncio.timeout(seconds_max):
                while True:
                    reading = asyncio.ensure_future(self._in_thread(cleaning.next))
                    found = await asyncio.shield(reading)
                    if isinstance(found, CleanReport):
                        return found
                    if not found.is_same and not await self._swap(partition, found, old, truncations):
                        raise Overtaken
        finally:
            cleaning.kill()
            if reading is not None:
                # Whatever it says now, nobody asks any more.
                await asyncio.gather(reading, return_exceptions=True)
            await self._in_thread(cleaning.end)
            if not partition.is_gone:
                await self._in_thread(sweep_cleaned, self._disk, job.directory, job.run)

    async def _swap(self, partition: Partition, group: CleanedGroup, all_old: list[Segment], truncations: int) -> bool:
        store = partition.log
        old = [each for each in all_old if group.base_offset <= each.base_offset < group.next_offset]
        sync = self._disk.sync_dir_job
        swap = None if partition.is_gone else begin_swap(store.segments, group, old, truncations)
        if swap is None:
            return False
        await self._in_thread(sync(store.path))
        if not swap.put_in():
            return False
        await self._in_thread(sync(store.path))
        swap.finish()
        partition.upkeep.on_cleaned()
        await self._in_thread(_unlink_all, self._disk, store.segments.take_retired())
        return True

    async def _write_down(self, partition: Partition, report: CleanReport) -> None:
        self._cleaned[partition.written_as] = report.cleaned_to
        # None of their records is left, so readers have none to skip.
        partition.log.state.transactions.aborted.trim_start(report.cleaned_to)
        self._tombstones_due[partition.written_as] = report.horizon
        try:
            await self._in_thread(checkpoint.save, self._disk, self._path, dict(self._cleaned))
        except DiskFull as full:
            logger.warning(
                "what was compacted of %(topic)s-%(partition)d is not written down: %(cause)s",
                {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": full},
            )

    def _in_thread(self, work: Callable[..., T], *arguments: object) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)


def _oldest_ms(segments: Sequence[Segment], first_dirty_offset: int) -> int | None:
    """When the first batch of the first dirty segment was made."""
    for segment in segments:
        if segment.next_offset > first_dirty_offset:
            return first_timestamp(segment)
    return None


def _unlink_all(disk: Disk, paths: list[str]) -> None:
    for path in paths:
        disk.unlink(path)
