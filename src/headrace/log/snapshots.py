"""The snapshot files of one log: `{offset}.snapshot` holds the state that all headers below `offset` make.

Invariant: after a crash a snapshot is used only up to the recovery point, below which the log it was made from is known
to stand, or up to the start of the log, below which all was committed. One is due after so many batches or bytes, so
that a cut, which runs on the event loop, replays few; and at each roll and clean stop. `ladder` chooses those to keep:
on either side of the recovery point, and none below the start of the log but the newest.
"""

import re
from bisect import bisect_right, insort
from collections.abc import Iterable

from headrace.base.disk import Disk, File
from headrace.base.errors import DiskFull
from headrace.log.config import LogConfig
from headrace.log.envelope import write_cache
from headrace.log.ladder import surplus
from headrace.log.segment import Segment
from headrace.log.state import LogState
from headrace.log.transactions import marker_at

_NAME = re.compile(r"(\d{20})\.snapshot")
# A snapshot costs about a microsecond for each producer, and 32 bytes for each aborted transaction.
_ABORTED_PER_BATCH = 16


class Snapshots:
    __slots__ = ("_bytes", "_directory", "_disk", "_offsets", "batches")

    def __init__(self, disk: Disk, directory: str, names: Iterable[str]) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets = sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))
        self.batches = 0
        """Batches since the last snapshot: so many a cut to the end of the log would replay."""
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._offsets)

    def is_due_after(self, batches: int, bytes: int, config: LogConfig, state: LogState) -> bool:
        """Counts an append, and says whether to write a snapshot after it: a large state waits longer, so that snapshots
        never cost appends more than appending does."""
        self.batches += batches
        self._bytes += bytes
        if self.batches < config.snapshot_batches and self._bytes < config.snapshot_bytes:
            return False
        return self.batches >= max(len(state.producers), len(state.transactions.aborted) // _ABORTED_PER_BATCH)

    def write(self, offset: int, state: LogState) -> File:
        """Writes a snapshot, unsynced; the caller closes it. On DiskFull an older one at this offset is lost too."""
        self.batches = self._bytes = 0
        try:
            file = write_cache(self._disk, self._path(offset), state.encode(offset))
        except DiskFull:
            if offset in self._offsets:
                self._offsets.remove(offset)
            raise
        if offset not in self._offsets:
            insort(self._offsets, offset)
        return file

    def restore(self, end_offset: int, segments: Iterable[Segment], now_ms: int) -> tuple[int, LogState]:
        """The state at `end_offset`: the newest sound snapshot at or below it, and the headers from there on."""
        offset, state = self._newest(end_offset)
        assert offset <= end_offset, (self._directory, offset, end_offset)
        self.batches = self._bytes = 0
        for segment in segments:
            if segment.next_offset > offset and segment.base_offset < end_offset:
                start = segment.position_of(offset)
                for position, header in segment.walk(start, segment.position_of(end_offset)):
                    state.apply(header, now_ms, marker_at(segment, position, header))
                    self.batches += 1
                    self._bytes += header.size
        return offset, state

    def _newest(self, end_offset: int) -> tuple[int, LogState]:
        usable = self._offsets[: bisect_right(self._offsets, end_offset)]
        for offset in reversed(usable):
            state = LogState.decode(self._disk.read(self._path(offset)), offset)
            if state is not None:
                return offset, state
            self._remove([offset])
        return 0, LogState()

    def remove_above(self, offset: int) -> None:
        self._remove(self._offsets[bisect_right(self._offsets, offset) :])

    def prune(self, recovery_point: int, start_offset: int) -> None:
        """Removes surplus snapshots, and those below the start of the log but the newest, which the start begins from."""
        self._remove(self._offsets[: max(0, bisect_right(self._offsets, min(start_offset, recovery_point)) - 1)])
        below = bisect_right(self._offsets, recovery_point)
        self._remove(surplus(self._offsets[:below]) + surplus(self._offsets[below:]))

    def _remove(self, offsets: list[int]) -> None:
        for offset in offsets:
            self._disk.unlink(self._path(offset))
            self._offsets.remove(offset)

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}.snapshot"
