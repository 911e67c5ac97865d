"""The opening of a log: after a clean stop from its caches, after any other from the batches themselves.

    clean     index of the last segment + snapshot at the end: nothing is scanned
    unclean   every batch from the segment that holds the recovery point on; the log ends before the first that is not
              sound, and what came after it is dropped

Invariant: nothing above the recovery point is trusted but for its own CRC and its neighbours. Reports what it cut;
whether that is damage or a torn end is for the broker to act on.
"""

import contextlib
from bisect import bisect_left
from typing import NamedTuple

from headrace.base.disk import File
from headrace.base.errors import DiskFull
from headrace.log.config import LogConfig
from headrace.log.scan import has_sound_batch, sound_batches
from headrace.log.segment import Segment
from headrace.log.snapshots import Snapshots
from headrace.log.state import LogState
from headrace.log.transactions import marker_at


class RecoveryReport(NamedTuple):
    cut_bytes: int = 0
    cut_offset: int | None = None
    below_recovery_point: bool = False
    valid_batch_after_cut: bool = False
    scanned_bytes: int = 0
    was_damaged: bool = False
    """An earlier life cut more than a torn end, and may have told nobody."""
    lacks_head: bool = False

    @property
    def is_damage(self) -> bool:
        """Whether more than a torn end was cut: something that was acknowledged may be gone."""
        return self.below_recovery_point or self.valid_batch_after_cut or self.was_damaged or self.lacks_head


class Recovered(NamedTuple):
    segments: list[Segment]
    state: LogState
    report: RecoveryReport
    scanned: list[Segment]
    dropped: list[Segment]
    caches: list[File]
    """Indexes and snapshots that were written on the way."""


def resume(segments: list[Segment], snapshots: Snapshots, recovery_point: int, now_ms: int) -> Recovered | None:
    """Opens a log after a clean stop; None when its index is not as it was left, and the log has to be recovered."""
    active = segments[-1]
    if active.size == 0:
        active.begin_empty()
    elif not active.load_active():
        return None
    _, state = snapshots.restore(active.next_offset, segments, now_ms)
    report = RecoveryReport(below_recovery_point=active.next_offset < recovery_point)
    return Recovered(segments, state, report, [], [], [])


def recover(
    segments: list[Segment],
    snapshots: Snapshots,
    recovery_point: int,
    now_ms: int,
    config: LogConfig,
    start_offset: int = 0,
) -> Recovered:
    # The one before a segment that begins right at the recovery point is read too: it may have been cut there, and have
    # its old end back.
    first = max(0, bisect_left([segment.base_offset for segment in segments], recovery_point) - 1)
    # One above the recovery point may be of a history that was truncated since; but what lies below the start of the log was
    # committed, and the batches are gone that would tell it again.
    known = max(recovery_point, start_offset)
    snapshots.remove_above(known)
    snapshot_offset, state = snapshots.restore(known, segments[:first], now_ms)
    scan = _Scan(state, snapshot_offset, now_ms, snapshots, config)
    sound = first
    while sound < len(segments) and scan.goes_on(segments[sound]):
        scan.read(segments[sound])
        sound += 1
    kept, dropped = segments[:sound], segments[sound:]
    end_offset = kept[-1].next_offset
    if end_offset < snapshot_offset:
        snapshots.remove_above(end_offset)
        _, state = snapshots.restore(end_offset, kept, now_ms)
    report = _report(scan, kept, dropped, recovery_point)
    return Recovered(kept, state, report, kept[first:], dropped, scan.caches)


def _report(scan: "_Scan", kept: list[Segment], dropped: list[Segment], recovery_point: int) -> RecoveryReport:
    end_offset = kept[-1].next_offset
    cut_bytes = scan.unsound_bytes + sum(segment.size for segment in dropped)
    remains = [(kept[-1], kept[-1].size)] + [(segment, 0) for segment in dropped]
    return RecoveryReport(
        cut_bytes=cut_bytes,
        cut_offset=end_offset if cut_bytes else None,
        below_recovery_point=end_offset < recovery_point,
        valid_batch_after_cut=any(
            has_sound_batch(segment.file, position, end_offset, scan.epoch) for segment, position in remains
        ),
        scanned_bytes=scan.bytes,
    )


class _Scan:
    """Goes over the segments in order, building indexes and state, up to the first that does not end as it should."""

    def __init__(self, state: LogState, apply_from: int, now_ms: int, snapshots: Snapshots, config: LogConfig) -> None:
        self.bytes = 0
        self.unsound_bytes = 0
        self.epoch = -1
        self.caches: list[File] = []
        self._snapshots = snapshots
        self._config = config
        self._state = state
        self._apply_from = apply_from
        self._now_ms = now_ms
        self._last: Segment | None = None

    def goes_on(self, segment: Segment) -> bool:
        """Whether a segment begins where the last one ended: else that one lost its end, or this is another history."""
        if self._last is None:
            return True
        return self.unsound_bytes == 0 and segment.base_offset == self._last.next_offset

    def read(self, segment: Segment) -> None:
        if self._last is not None:
            self._seal(self._last)
        self._last = segment
        file_bytes = segment.size
        segment.begin_empty()
        for header in sound_batches(segment.file, segment.base_offset, self.epoch):
            position = segment.size
            segment.add(header)
            self.epoch = header.leader_epoch
            if header.base_offset >= self._apply_from:
                self._state.apply(header, self._now_ms, marker_at(segment, position, header))
                if self._snapshots.is_due_after(1, header.size, self._config, self._state):
                    self._write_snapshot(header.next_offset)
        self.bytes += file_bytes
        self.unsound_bytes = file_bytes - segment.size

    def _write_snapshot(self, offset: int) -> None:
        """Writes a snapshot below the tail of a crash, which a new leader may have cut."""
        with contextlib.suppress(DiskFull):
            self.caches.append(self._snapshots.write(offset, self._state))

    def _seal(self, segment: Segment) -> None:
        """Seals a segment and writes its index: an index that is there may be of another history, and look as if it
        fitted."""
        with contextlib.suppress(DiskFull):
            self.caches.append(segment.write_index())
        segment.seal()
