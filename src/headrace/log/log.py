"""The log of one partition: batches appended at the end, read as file ranges, cut and forgotten at either end.

    start_offset, synced_end ≤ end_offset        all segments but the last are sealed, the last one is active

Invariant: offsets rise; a batch that `append` returned for is readable at once and survives whatever `on_synced` has
reported since. Batches arrive whole, checked and stamped: the log opens none. It holds no futures and knows no leader,
no high watermark and no clock; files are reached through the disk port only, and synced by whoever runs its tickets.

A directory holds, per segment, `{base}.log` and `{base}.index`, and `{offset}.snapshot` files of the state; and the mark
`damaged`, from before a recovery cuts more than a torn end until the cluster knows.
"""

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from headrace.base.clock import Now
from headrace.base.disk import Chunk, Disk
from headrace.base.errors import DiskFailed, DiskFull
from headrace.log.aborted import Aborted
from headrace.log.config import LogConfig
from headrace.log.directory import list_segments, retire, retire_directory, sweep
from headrace.log.envelope import wrap
from headrace.log.file_range import FileRange
from headrace.log.pool import FilePool
from headrace.log.producers import ProducerState, Verdict
from headrace.log.recovery import Recovered, RecoveryReport, recover, resume
from headrace.log.segment import RELATIVE_OFFSET_MAX, Segment, log_path
from headrace.log.snapshots import Snapshots
from headrace.log.state import LogState
from headrace.log.swap import CleanedGroup, Swap, new_swap
from headrace.log.sync import SyncState, SyncTicket
from headrace.log.times import first_at_or_after, newest_with_records
from headrace.log.transactions import marker_of
from headrace.wire.batch import CONTROL, LENGTH_END, BatchHeader, CorruptBatch
from headrace.wire.codes import ErrorCode

_INDEX_ROW_BYTES = 8
DAMAGE_MARK = "damaged"
_DAMAGE_MAGIC, _DAMAGE_VERSION = b"HRdm", 1


class Log:
    __slots__ = (
        "_active",
        "_disk",
        "_has_sealed_unsynced",
        "_is_marked_damaged",
        "_pool",
        "_retired",
        "_segments",
        "_snapshots",
        "_state",
        "_steady_from",
        "_swap",
        "_sync",
        "config",
        "end_offset",
        "lacks_head",
        "path",
        "start_offset",
    )

    def __init__(
        self, pool: FilePool, path: str, config: LogConfig, start_offset: int, snapshots: Snapshots, now: Now
    ) -> None:
        """Makes an empty log without files yet: use `open`."""
        self._disk: Disk = pool.disk
        self._pool = pool
        self._segments: list[Segment] = []
        self._snapshots = snapshots
        self._state = LogState()
        self._steady_from = now.wall - int(now.mono * 1000 + 0.5)
        self._sync = SyncState(pool.disk, start_offset)
        self._has_sealed_unsynced = False
        self._is_marked_damaged = False
        self._retired: list[str] = []
        self._swap: Swap | None = None
        self.config = config
        self.path = path
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.lacks_head = False
        """A power cut took the names of its first segments, and left later ones."""

    @classmethod
    def open(
        cls,
        disk: Disk,
        pool: FilePool,
        path: str,
        config: LogConfig,
        now: Now,
        *,
        recovery_point: int,
        clean: bool,
        start_offset: int | None = None,
    ) -> tuple["Log", RecoveryReport]:
        """Opens the log of a directory, or makes a new one, and says what a recovery cut.

        After an unclean stop `synced_end` is the recovery point until a first ticket has run: run one. The earlier life
        may have ended because a sync failed, and nobody can be sure to have written that down: the disk had just
        failed. Bytes above the recovery point may then be in the page cache only, where the next sync would not find
        them. So after every unclean stop they are written again.
        """
        assert disk is pool.disk, "the pool opens files of another disk"
        is_new = not disk.exists(path)
        if is_new:
            disk.mkdir(path)
        names = sweep(disk, path)
        log = cls(pool, path, config, start_offset or 0, Snapshots(disk, path, names), now)
        log._is_marked_damaged = DAMAGE_MARK in names
        if is_new or not clean:
            log._prove_names()
        segments = log._without_retired(list_segments(pool, path, names, config.index_interval_bytes))
        # A start is written down before anything below it goes.
        log.lacks_head = bool(segments) and segments[0].base_offset > log.start_offset
        if not segments:
            log._begin_at(log.start_offset)
            return log, log._told(RecoveryReport(below_recovery_point=recovery_point > log.end_offset))
        if len(segments) == 1 and not segments[0].size and not len(log._snapshots):
            # Nothing was ever written, as in most logs of a broker with very many. No file is opened for it.
            segments[0].begin_empty()
            log._take_up(Recovered(segments, LogState(), RecoveryReport(), [], [], []), segments[0].base_offset, now)
            return log, log._told(RecoveryReport(below_recovery_point=recovery_point > log.end_offset))
        now_ms = log._steady(now)
        recovered = resume(segments, log._snapshots, recovery_point, now_ms) if clean else None
        if recovered is None:
            recovered = recover(segments, log._snapshots, recovery_point, now_ms, config, log.start_offset)
            if recovered.report.is_damage:
                log._mark_damage()
            log._mend(recovered)
            log._write_again(recovered, recovery_point)
            synced_end = min(recovery_point, recovered.segments[-1].next_offset)
        else:
            synced_end = segments[-1].next_offset
        log._take_up(recovered, synced_end, now)
        return log, log._told(recovered.report)

    def _told(self, report: RecoveryReport) -> RecoveryReport:
        """The report, with damage that an earlier life cut and may not have told anybody: the cut itself shows no more."""
        return report._replace(was_damaged=self._is_marked_damaged, lacks_head=self.lacks_head)

    def _mark_damage(self) -> None:
        """Marks the directory as damaged, durably and before anything is cut, so that the next life knows too."""
        if not self._is_marked_damaged:
            self._disk.write_atomic(f"{self.path}/{DAMAGE_MARK}", wrap(_DAMAGE_MAGIC, _DAMAGE_VERSION, b""))
            self._is_marked_damaged = True

    def forget_damage(self) -> None:
        """Removes the mark of damage: the cluster counts on this copy no more, or knows no better one."""
        if self._is_marked_damaged:
            self._disk.unlink(f"{self.path}/{DAMAGE_MARK}")
            self._is_marked_damaged = False

    def _without_retired(self, segments: list[Segment]) -> list[Segment]:
        """The segments above the start: a crash may bring some of the retired ones back, with holes between them."""
        live = [segment for segment in segments if segment is segments[-1] or segment.next_offset > self.start_offset]
        self._drop(segments[: len(segments) - len(live)])
        return live

    def _mend(self, recovered: Recovered) -> None:
        """Makes the files agree with what the scan found. All of it is unsynced: so may the bytes have been."""
        active = recovered.segments[-1]
        if active.file.size > active.size:
            active.file.truncate(active.size)
        self._drop(recovered.dropped)
        self._disk.unlink(active.index_path)
        for segment in recovered.scanned:
            self._sync.touch(segment.file)
        for cache in recovered.caches:
            self._sync.touch(cache)
            cache.close()
        self._prove_names()

    def _prove_names(self) -> None:
        """Has the first ticket sync the directories of the log and its files again.

        A name that is there may not be durable: a killed process leaves the page cache behind, so does a failed sync.
        """
        above, slash, _ = self.path.rpartition("/")
        self._sync.touch_directory(above or slash or ".")
        self._sync.touch_directory(self.path)

    def _write_again(self, recovered: Recovered, recovery_point: int) -> None:
        for segment in recovered.scanned:
            segment.file.rewrite(segment.position_of(max(recovery_point, segment.base_offset)))

    def _take_up(self, recovered: Recovered, synced_end: int, now: Now) -> None:
        self._segments = recovered.segments
        self._active = self._segments[-1]
        self._state = recovered.state
        self._state.producers.on_resumed(self._steady(now), self.config.producer_expiration_ms)
        self._sync.synced_end = synced_end
        self.end_offset = self._active.next_offset
        if self.start_offset > self.end_offset:
            self.truncate_fully_to(self.start_offset, now)
        else:
            self.start_offset = max(self.start_offset, self._segments[0].base_offset)
            self._state.trim_start(self.start_offset)

    def _steady(self, now: Now) -> int:
        """The wall clock when the log was opened, plus the monotonic time since: a clock that is set ages no producer."""
        return int(now.mono * 1000 + 0.5) + self._steady_from

    @property
    def synced_end(self) -> int:
        return self._sync.synced_end

    @property
    def unsynced_messages(self) -> int:
        return self.end_offset - self._sync.synced_end

    def owes_sync(self, messages_max: int) -> bool:
        """Whether a relaxed topic is to sync now: so many messages are not on disk, or a segment was sealed since the last
        sync, which would make recovery longer."""
        return self.end_offset - self._sync.synced_end >= messages_max or self._has_sealed_unsynced

    @property
    def truncations(self) -> int:
        return self._sync.truncations

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def segment_count(self) -> int:
        return len(self._segments)

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments, oldest first; for retention, metrics and inspection."""
        return self._segments

    @property
    def active_epoch(self) -> int:
        """The epoch of the newest batch; -1 when there is none."""
        return self._state.epochs.latest

    # Writing

    def append(self, buf: Chunk, headers: Sequence[BatchHeader], now: Now) -> None:
        """Appends the whole batches in `buf`, which `headers` describe. On DiskFull the log is as it was before."""
        first, last = headers[0], headers[-1]
        next_offset = last.base_offset + last.last_offset_delta + 1
        size, wall = len(buf), now.wall
        assert first.base_offset >= self.end_offset, (self.path, first.base_offset, self.end_offset)
        if first is last:
            assert size == first.batch_length + 12, (self.path, size, first.batch_length)
        else:
            _assert_rising(headers, size)
        segment = self._active
        if segment.size and self._is_over(segment, size, next_offset, wall):
            self.roll(now)
            segment = self._active
        assert next_offset - segment.base_offset <= RELATIVE_OFFSET_MAX, (self.path, segment.base_offset, next_offset)
        file = self._pool.open(segment.log_path)
        file.append(buf)
        if segment.log_path not in self._sync.files:
            self._sync.touch(file)
        was_empty = segment.size == 0
        has_producers = first is not last or first.producer_id >= 0
        steady = self._steady(now) if has_producers else 0
        position = 0
        for header in headers:
            following = position + header.batch_length + LENGTH_END
            marker = marker_of(memoryview(buf)[position:following]) if header.attributes & CONTROL else None
            segment.add(header)
            self._state.apply(header, steady, marker)
            position = following
        if was_empty:
            segment.first_append_ms = wall
        self.end_offset = next_offset
        assert segment.size == file.size, (file.path, segment.size, file.size)
        assert segment.next_offset == next_offset, (file.path, segment.next_offset, next_offset)
        if has_producers:
            self._state.forget_surplus(self.config.producers_max)
        if self._snapshots.is_due_after(len(headers), size, self.config, self._state):
            # Nothing but time is lost without it.
            with contextlib.suppress(DiskFull):
                self._write_snapshot()

    def _is_over(self, segment: Segment, size: int, next_offset: int, wall: int) -> bool:
        """Whether these bytes belong into a new segment. One buffer never spans two, even if it is longer than one."""
        config = self.config
        return (
            segment.size + size > config.segment_bytes
            or wall - segment.first_append_ms > config.segment_ms
            or next_offset - segment.base_offset > RELATIVE_OFFSET_MAX
            or len(segment.index) * _INDEX_ROW_BYTES >= config.segment_index_bytes
        )

    def roll(self, now: Now) -> None:
        """Begins a new segment; nothing happens to an empty one. On DiskFull the old one stays active."""
        sealed = self._active
        if sealed.size == 0:
            return
        self._write_index(sealed)
        self._write_snapshot()
        self._begin_at(self.end_offset)
        self._has_sealed_unsynced = True
        sealed.seal()

    def check_producer(self, header: BatchHeader) -> Verdict:
        state = self._state
        verdict = state.producers.check(header)
        if verdict is None and header.producer_id not in state.transactions.open:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED if state.is_full(header, self.config.producers_max) else None
        if verdict is None and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return verdict

    def check_producer_epoch(self, producer_id: int, epoch: int) -> ErrorCode | None:
        return self._state.producers.check_epoch(producer_id, epoch)

    def producer(self, producer_id: int) -> ProducerState | None:
        return self._state.producers.get(producer_id)

    def producers(self) -> Iterator[tuple[int, ProducerState]]:
        return self._state.producers.items()

    def expire_producers(self, now: Now) -> int:
        in_transaction = self._state.transactions.open
        return self._state.producers.expire(self._steady(now), self.config.producer_expiration_ms, in_transaction)

    # Transactions

    def transaction_start(self, producer_id: int) -> int | None:
        """The first offset of the transaction that this producer has open here."""
        return self._state.transactions.open.get(producer_id)

    def stable_end(self, high_watermark: int) -> int:
        """The last stable offset: below it all is decided, and no fail-over can undecide it."""
        transactions = self._state.transactions
        if not transactions.open and not transactions.ended:
            return high_watermark
        return max(self.start_offset, transactions.stable_end(high_watermark))

    def on_high_watermark(self, high_watermark: int) -> None:
        self._state.transactions.on_high_watermark(high_watermark)

    def on_cleaned(self, cleaned_to: int) -> None:
        """Drops aborted transactions below `cleaned_to`: none of their records is left, so readers have none to skip."""
        self._state.transactions.aborted.trim_start(min(cleaned_to, self.end_offset))

    def aborted_between(self, offset: int, end_offset: int) -> list[Aborted]:
        return self._state.transactions.aborted.between(offset, end_offset)

    # Reading

    def read(self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool = True) -> FileRange | None:
        """Whole batches of one segment from the one that holds `offset` (or the next) on, below `end_offset`.

        `end_offset` is a batch boundary, such as the high watermark. The first batch comes whole, however long, if
        `at_least_one`; otherwise None when it does not fit. Release the range.
        """
        if end_offset > self.end_offset:
            end_offset = self.end_offset
        if offset >= end_offset:
            return None
        segment = self._active
        start = end = 0
        if offset >= segment.base_offset:
            start, end = segment.position_of(offset), segment.position_of(end_offset)
        else:
            at = self._segment_at(offset)
            while start >= end and at < len(self._segments):
                segment = self._segments[at]
                start, end = segment.position_of(offset), segment.position_of(end_offset)
                at += 1
                if start == segment.size:
                    self._expect_no_hole(offset, segment, at)
        if start >= end:
            return None
        if end - start <= max_bytes:
            next_offset = min(end_offset, segment.next_offset)
        else:
            boundary = segment.boundary_within(start, start + max_bytes, at_least_one)
            if boundary is None:
                return None
            end, next_offset = boundary
        segment.index.mark(next_offset, end)
        return FileRange(self._pool.open(segment.log_path), start, end - start, next_offset)

    def _expect_no_hole(self, offset: int, segment: Segment, following: int) -> None:
        """Raises when the read would jump a hole.

        Compaction leaves gaps inside of segments, never between two: there a file is missing, or a part of one.
        """
        if following < len(self._segments) and segment.next_offset <= offset < self._segments[following].base_offset:
            raise CorruptBatch(
                f"{self.path} has no offsets {segment.next_offset} to {self._segments[following].base_offset - 1}: "
                f"a segment file is gone, or a part of one. Put it back, or delete records up to there"
            )

    def bytes_between(self, offset: int, end_offset: int) -> int:
        """The approximate bytes from `offset` to `end_offset`: exact at 0, to an index interval elsewhere."""
        end_offset = min(end_offset, self.end_offset)
        if offset >= end_offset:
            return 0
        first, last = self._segment_at(offset), self._segment_at(end_offset)
        length = self._segments[last].position_near(end_offset) - self._segments[first].position_near(offset)
        if first != last:
            length += sum(segment.size for segment in self._segments[first:last])
        return max(1, length)

    def find_by_time(self, timestamp: int) -> tuple[int, int] | None:
        """(offset, timestamp) of the first record that is not older than `timestamp`."""
        return first_at_or_after(self._segments, timestamp, self.start_offset)

    def max_timestamp(self) -> tuple[int, int]:
        """(timestamp, offset) of the newest record by timestamp, the first of several; (-1, -1) when there is none."""
        newest = max(segment.max_timestamp for segment in self._segments)
        found = self.find_by_time(newest) if newest >= 0 else None
        if found is None and newest >= 0:
            # Compaction emptied the batch that had the largest timestamp.
            found = self.find_by_time(newest_with_records(self._segments, self.start_offset))
        return (found[1], found[0]) if found is not None else (-1, -1)

    def epoch_end(self, epoch: int, current_epoch: int = -1) -> tuple[int, int]:
        """(epoch, end offset) as OffsetForLeaderEpoch asks; `current_epoch` is the leader's, perhaps still without a
        batch."""
        return self._state.epochs.end_of(epoch, current_epoch, self.end_offset)

    def epoch_at(self, offset: int) -> int:
        """The leader epoch of the batch that holds an offset; -1 when it is not known."""
        return self._state.epochs.epoch_at(offset)

    def _segment_at(self, offset: int) -> int:
        """The position in the list of the segment that holds `offset`: most calls are for the last."""
        if offset >= self._active.base_offset:
            return len(self._segments) - 1
        return max(0, bisect_right(self._segments, offset, key=_base_offset) - 1)

    # Cutting

    def truncate_to(self, offset: int, now: Now) -> None:
        """Cuts the batches with offsets at or above `offset`.

        Before the call a recovery point at or below `offset` must be durable: after a crash in the midst of this, what
        lies above may be a mixture of old and new, and only a scan finds out.
        """
        if offset >= self.end_offset:
            return
        if offset < self._segments[0].base_offset:
            self.truncate_fully_to(offset, now)
            return
        self._end_swap()
        at = self._segment_at(offset)
        self._drop(self._segments[at + 1 :])
        del self._segments[at + 1 :]
        self._active = active = self._segments[at]
        active.cut(offset)
        self._disk.unlink(active.index_path)
        self._sync.touch(active.file)
        self._after_cut(active.next_offset, now)

    def truncate_fully_to(self, start_offset: int, now: Now) -> None:
        """Drops everything and goes on, empty, at `start_offset`. The rule about the recovery point holds here too."""
        self._end_swap()
        self.lacks_head = False
        self._drop(self._segments)
        self._segments = []
        self._snapshots.remove_above(-1)
        try:
            self._begin_at(start_offset)
        except DiskFull as error:
            raise DiskFailed(f"{self.path}: no room for an empty segment, and the old ones are gone") from error
        self.start_offset = start_offset
        self._after_cut(start_offset, now)

    def _after_cut(self, end_offset: int, now: Now) -> None:
        self.end_offset = end_offset
        self.start_offset = min(self.start_offset, end_offset)
        self._snapshots.remove_above(end_offset)
        _, self._state = self._snapshots.restore(end_offset, self._segments, self._steady(now))
        self._state.producers.on_resumed(self._steady(now), self.config.producer_expiration_ms)
        self._state.trim_start(self.start_offset)
        self._sync.on_truncated(end_offset)
        self._sync.touch_directory(self.path)
        assert self._active.next_offset == end_offset, (self.path, self._active.next_offset, end_offset)
        self._assert_bounds()

    def advance_start(self, offset: int) -> int:
        """Forgets what lies below `offset`, as DeleteRecords and retention want; never goes back."""
        assert offset <= self.end_offset, (self.path, offset, self.end_offset)
        if offset > self.start_offset:
            self.start_offset = offset
            self._state.trim_start(offset)
        return self.start_offset

    def has_segments_below(self, start_offset: int) -> bool:
        """Whether a sealed segment lies wholly below this offset."""
        oldest = self._segments[0]
        return oldest is not self._active and oldest.next_offset <= start_offset

    def retire_segments(self, durable_start: int) -> list[str]:
        """Lets go of the sealed segments below `durable_start`. Returns the paths to unlink off the loop.

        `durable_start` is a start offset that is written down; `start_offset` may be past it already. A crash may bring
        back any part of what is let go, and a start below that would then find holes.
        """
        start = min(durable_start, self.start_offset)
        gone = 0
        while self._segments[gone] is not self._active and self._segments[gone].next_offset <= start:
            gone += 1
        self._drop(self._segments[:gone])
        del self._segments[:gone]
        return self.take_retired()

    def take_retired(self) -> list[str]:
        """Hands over the paths of retired segments that are still to be unlinked."""
        retired, self._retired = self._retired, []
        return retired

    def _drop(self, segments: list[Segment]) -> None:
        for segment in segments:
            self._sync.forget(segment.log_path)
            self._sync.forget(segment.index_path)
            self._retired.append(retire(self._pool, segment))
        if segments:
            self._sync.touch_directory(self.path)

    # Cleaning; `swap` says why in three steps, with the directory synced off the loop between them

    def begin_swap(self, group: CleanedGroup, old: list[Segment], truncations: int) -> Swap | None:
        """Names the cleaned file as the one that counts. None when the log is no longer what was cleaned: `truncations`
        is how often it had been cut when the cleaning began."""
        assert self._swap is None, "one swap at a time"
        swap = new_swap(self._pool, self.path, group, old)
        if truncations != self.truncations or not self._still_has(old):
            return None
        self._disk.rename(group.path, swap.new.log_path)
        self._swap = swap
        return swap

    def _still_has(self, old: list[Segment]) -> bool:
        if old[-1] is self._active or old[0] not in self._segments:
            return False
        at = self._segments.index(old[0])
        return self._segments[at : at + len(old)] == old

    def swap_in(self, swap: Swap) -> bool:
        """Reads from the cleaned file from here on. False when the originals went meanwhile, and it with them."""
        if self._swap is not swap:
            return False
        if not self._still_has(swap.old):
            self._disk.unlink(swap.new.log_path)
            self._swap = None
            return False
        at = self._segments.index(swap.old[0])
        self._drop(swap.old)
        self._segments[at : at + len(swap.old)] = [swap.new]
        self._disk.rename(swap.index_path, swap.new.index_path)
        swap.is_in = True
        return True

    def finish_swap(self, swap: Swap) -> None:
        """Gives the cleaned file its last name: the originals are gone for good."""
        if self._swap is not swap:
            return
        self._swap = None
        if swap.new in self._segments:
            path = log_path(self.path, swap.new.base_offset)
            self._disk.rename(swap.new.log_path, path)
            self._pool.forget(swap.new.log_path)
            swap.new.log_path = path
            self._sync.touch_directory(self.path)

    def _end_swap(self) -> None:
        """Finishes or drops a swap before a cut: a crash after the cut must not find a swap file that stands for more.

        Blocks; hardly ever needed.
        """
        swap = self._swap
        if swap is None:
            return
        if not swap.is_in:
            self._disk.unlink(swap.new.log_path)
            self._swap = None
        self._disk.sync_dir_job(self.path)()
        self.finish_swap(swap)

    # Syncing

    def begin_sync(self) -> SyncTicket | None:
        """A ticket whose jobs, run in threads, prove the log up to its end of now; None when all of it is proven."""
        self._has_sealed_unsynced = False
        self._assert_bounds()
        return self._sync.begin(self.end_offset)

    def on_synced(self, ticket: SyncTicket) -> int:
        synced_end = self._sync.on_synced(ticket)
        self._assert_bounds()
        return synced_end

    def _assert_bounds(self) -> None:
        start, synced, end = self.start_offset, self._sync.synced_end, self.end_offset
        assert start <= end and synced <= end, (self.path, start, synced, end)

    def on_checkpointed(self, recovery_point: int) -> None:
        """Prunes snapshots well below `recovery_point`, which is durable now: none will ask for them again."""
        self._snapshots.prune(recovery_point, self.start_offset)

    # Ending

    def prepare_close(self) -> None:
        """Writes the caches that let the next start begin without a scan; a sync and `close` follow. On a full disk there
        will be none."""
        with contextlib.suppress(DiskFull):
            if self._active.size:
                self._write_index(self._active)
            if self.end_offset:
                self._write_snapshot()

    def close(self) -> None:
        self._swap = None
        self._sync.release()
        for segment in self._segments:
            self._pool.forget(segment.log_path)

    def drop(self) -> str:
        """Ends the partition. Returns the directory that is left to remove off the loop."""
        self.close()
        return retire_directory(self._disk, self.path)

    # Files

    def _begin_at(self, base_offset: int) -> None:
        path = log_path(self.path, base_offset)
        self._pool.create(path)
        segment = Segment(self._pool, path, base_offset, 0, base_offset, self.config.index_interval_bytes)
        segment.begin_empty()
        self._segments.append(segment)
        self._active = segment
        self._sync.touch_directory(self.path)

    def _write_index(self, segment: Segment) -> None:
        file = segment.write_index()
        self._sync.touch(file)
        file.close()

    def _write_snapshot(self) -> None:
        file = self._snapshots.write(self.end_offset, self._state)
        self._sync.touch(file)
        file.close()


def _assert_rising(headers: Sequence[BatchHeader], size: int) -> None:
    next_offset = headers[0].base_offset
    for header in headers:
        assert header.base_offset >= next_offset, (header.base_offset, next_offset)
        next_offset = header.next_offset
        size -= header.size
    assert size == 0, f"{size} bytes are not in the headers"


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
