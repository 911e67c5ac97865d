"""The log of one partition: batches appended at the end, read as file ranges, cut and forgotten at either end.

    start_offset, synced_end ≤ end_offset        all segments but the last are sealed, the last one is active

    Log            its bounds, and what moves them: appends, rolls, cuts, a later start
    segments       its files, and which offsets each holds (`LogSegments`)
    sync           what of it is proven to be on disk (`SyncState`)
    state          what headers and markers make of it: producers, transactions, epochs (`LogState`)
    reader         ranges by offset, offsets by time (`LogReader`)
    snapshots      states of before, so that a cut replays little (`Snapshots`)
    damage         the mark that more than a torn end was cut (`DamageMark`)

Invariant: offsets rise; a batch that `append` returned for is readable at once and survives whatever `on_synced` has
reported since. Batches arrive whole, checked and stamped: the log opens none. It holds no futures and knows no leader,
no high watermark and no clock; files are reached through the disk port only, and synced by whoever runs its tickets.
`opening` makes a log of a directory, which holds, per segment, `{base}.log` and `{base}.index`, and `{offset}.snapshot`.
"""

import contextlib
from collections.abc import Collection, Sequence

from headrace.base.clock import Now
from headrace.base.disk import Chunk
from headrace.base.errors import DiskFailed, DiskFull
from headrace.log.config import LogConfig
from headrace.log.damage import DamageMark
from headrace.log.directory import retire_directory
from headrace.log.pool import FilePool
from headrace.log.reader import LogReader
from headrace.log.segment import RELATIVE_OFFSET_MAX, Segment
from headrace.log.segments import LogSegments
from headrace.log.snapshots import Snapshots
from headrace.log.state import LogState
from headrace.log.sync import SyncState, SyncTicket
from headrace.log.transactions import marker_of
from headrace.wire.batch import CONTROL, LENGTH_END, BatchHeader

_INDEX_ROW_BYTES = 8


class Log:
    __slots__ = (
        "_pool",
        "_steady_from",
        "config",
        "damage",
        "end_offset",
        "lacks_head",
        "path",
        "reader",
        "segments",
        "snapshots",
        "start_offset",
        "state",
        "sync",
    )

    def __init__(
        self, pool: FilePool, path: str, config: LogConfig, start_offset: int, names: Collection[str], now: Now
    ) -> None:
        """Makes an empty log without segments yet: use `open_log`. `names` are those in its directory."""
        self._pool = pool
        self._steady_from = now.wall - int(now.mono * 1000 + 0.5)
        self.config = config
        self.path = path
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.sync = SyncState(pool.disk, start_offset)
        self.segments = LogSegments(pool, path, self.sync)
        self.reader = LogReader(self.segments)
        self.state = LogState()
        self.snapshots = Snapshots(pool.disk, path, names)
        self.damage = DamageMark(pool.disk, path, names)
        self.lacks_head = False
        """A power cut took the names of its first segments, and left later ones."""

    def take_up(self, segments: list[Segment], state: LogState, synced_end: int, now: Now) -> None:
        """Goes on where an earlier life ended."""
        self.segments.take_up(segments)
        self.state = state
        self.state.producers.on_resumed(self.steady(now), self.config.producer_expiration_ms)
        self.sync.synced_end = synced_end
        self.end_offset = self.segments.active.next_offset
        if self.start_offset > self.end_offset:
            self.truncate_fully_to(self.start_offset, now)
        else:
            self.start_offset = max(self.start_offset, segments[0].base_offset)
            self.state.trim_start(self.start_offset)
        self._assert_bounds()

    def steady(self, now: Now) -> int:
        """The wall clock when the log was opened, plus the monotonic time since: a clock that is set ages no producer."""
        return int(now.mono * 1000 + 0.5) + self._steady_from

    @property
    def unsynced_messages(self) -> int:
        return self.end_offset - self.sync.synced_end

    def expire_producers(self, now: Now) -> int:
        in_transaction = self.state.transactions.open
        return self.state.producers.expire(self.steady(now), self.config.producer_expiration_ms, in_transaction)

    # Writing

    def append(self, buf: Chunk, headers: Sequence[BatchHeader], now: Now) -> None:
        """Appends the whole batches in `buf`, which `headers` describe. On DiskFull the log is as it was before."""
        first, last = headers[0], headers[-1]
        next_offset = last.base_offset + last.last_offset_delta + 1
        size, wall, state = len(buf), now.wall, self.state
        assert first.base_offset >= self.end_offset, (self.path, first.base_offset, self.end_offset)
        assert first.leader_epoch >= state.epochs.latest, (self.path, first.leader_epoch, state.epochs.latest)
        if first is last:
            assert size == first.batch_length + 12, (self.path, size, first.batch_length)
        else:
            _assert_rising(headers, size)
        segment = self.segments.active
        if segment.size and self._is_over(segment, size, next_offset, wall):
            self.roll(now)
            segment = self.segments.active
        assert next_offset - segment.base_offset <= RELATIVE_OFFSET_MAX, (self.path, segment.base_offset, next_offset)
        file = self._pool.open(segment.log_path)
        file.append(buf)
        if segment.log_path not in self.sync.files:
            self.sync.touch(file)
        was_empty, position = segment.size == 0, 0
        has_producers = first is not last or first.producer_id >= 0
        steady = self.steady(now) if has_producers else 0
        for header in headers:
            following = position + header.batch_length + LENGTH_END
            marker = marker_of(memoryview(buf)[position:following]) if header.attributes & CONTROL else None
            segment.add(header)
            state.apply(header, steady, marker)
            position = following
        if was_empty:
            segment.first_append_ms = wall
        self.end_offset = next_offset
        assert segment.size == file.size and segment.next_offset == next_offset, (file.path, file.size, next_offset)
        if has_producers:
            state.forget_surplus(self.config.producers_max)
        if self.snapshots.is_due_after(len(headers), size, self.config, state):
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
        sealed = self.segments.active
        if sealed.size == 0:
            return
        self.segments.write_index(sealed)
        self._write_snapshot()
        self.segments.begin_at(self.end_offset, self.config.index_interval_bytes)
        self.sync.has_sealed = True
        sealed.seal()

    def _write_snapshot(self) -> None:
        file = self.snapshots.write(self.end_offset, self.state)
        self.sync.touch(file)
        file.close()

    # Cutting

    def truncate_to(self, offset: int, now: Now) -> None:
        """Cuts the batches with offsets at or above `offset`.

        Before the call a recovery point at or below `offset` must be durable: after a crash in the midst of this, what
        lies above may be a mixture of old and new, and only a scan finds out.
        """
        if offset >= self.end_offset:
            return
        if offset < self.segments.all[0].base_offset:
            self.truncate_fully_to(offset, now)
            return
        self.segments.end_swap()
        self.segments.cut(offset)
        self._after_cut(self.segments.active.next_offset, now)

    def truncate_fully_to(self, start_offset: int, now: Now) -> None:
        """Drops everything and goes on, empty, at `start_offset`. The rule about the recovery point holds here too."""
        self.segments.end_swap()
        self.lacks_head = False
        self.segments.drop_all()
        self.snapshots.remove_above(-1)
        try:
            self.segments.begin_at(start_offset, self.config.index_interval_bytes)
        except DiskFull as error:
            raise DiskFailed(f"{self.path}: no room for an empty segment, and the old ones are gone") from error
        self.start_offset = start_offset
        self._after_cut(start_offset, now)

    def _after_cut(self, end_offset: int, now: Now) -> None:
        self.end_offset = end_offset
        self.start_offset = min(self.start_offset, end_offset)
        self.snapshots.remove_above(end_offset)
        _, self.state = self.snapshots.restore(end_offset, self.segments.all, self.steady(now))
        self.state.producers.on_resumed(self.steady(now), self.config.producer_expiration_ms)
        self.state.trim_start(self.start_offset)
        self.sync.on_truncated(end_offset)
        self.sync.touch_directory(self.path)
        self._assert_bounds()

    def advance_start(self, offset: int) -> int:
        """Forgets what lies below `offset`, as DeleteRecords and retention want; never goes back."""
        assert offset <= self.end_offset, (self.path, offset, self.end_offset)
        if offset > self.start_offset:
            self.start_offset = offset
            self.state.trim_start(offset)
        return self.start_offset

    def retire_segments(self, durable_start: int) -> list[str]:
        """Lets go of the sealed segments below `durable_start`. Returns the paths to unlink off the loop.

        `durable_start` is a start offset that is written down; `start_offset` may be past it already. A crash may bring
        back any part of what is let go, and a start below that would then find holes.
        """
        retired = self.segments.retire_below(min(durable_start, self.start_offset))
        self._assert_bounds()
        return retired

    # Syncing

    def begin_sync(self) -> SyncTicket | None:
        """A ticket whose jobs, run in threads, prove the log up to its end of now; None when all of it is proven."""
        self._assert_bounds()
        return self.sync.begin(self.end_offset)

    def on_synced(self, ticket: SyncTicket) -> int:
        synced_end = self.sync.on_synced(ticket)
        self._assert_bounds()
        return synced_end

    def _assert_bounds(self) -> None:
        # The first segment may begin above the start: the one before it had lost its end on the disk, and has gone.
        start, synced, end = self.start_offset, self.sync.synced_end, self.end_offset
        last = self.segments.active.next_offset
        assert start <= end == last and synced <= end, (self.path, start, synced, end, last)

    # Ending

    def prepare_close(self) -> None:
        """Writes the caches that let the next start begin without a scan; a sync and `close` follow. On a full disk there
        will be none."""
        with contextlib.suppress(DiskFull):
            if self.segments.active.size:
                self.segments.write_index(self.segments.active)
            if self.end_offset:
                self._write_snapshot()

    def close(self) -> None:
        self.sync.release()
        self.segments.close()

    def drop(self) -> str:
        """Ends the partition. Returns the directory that is left to remove off the loop."""
        self.close()
        return retire_directory(self._pool.disk, self.path)


def _assert_rising(headers: Sequence[BatchHeader], size: int) -> None:
    next_offset, epoch = headers[0].base_offset, headers[0].leader_epoch
    for header in headers:
        assert header.base_offset >= next_offset and header.leader_epoch >= epoch, (header, next_offset, epoch)
        next_offset, epoch = header.next_offset, header.leader_epoch
        size -= header.size
    assert size == 0, f"{size} bytes are not in the headers"
