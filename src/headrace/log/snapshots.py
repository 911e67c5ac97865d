"""The snapshot files of one log: `{offset}.snapshot` holds the state that all headers below `offset` make.

Invariant: a snapshot is used only up to the recovery point, below which the log it was made from is known to stand.
Written at each roll and at a clean stop; the newest two at or below the recovery point are kept, and any above it.
"""

import re
from bisect import bisect_right, insort
from collections.abc import Iterable

from headrace.base.disk import Disk, File
from headrace.log.envelope import write_cache
from headrace.log.segment import Segment
from headrace.log.state import LogState

_NAME = re.compile(r"(\d{20})\.snapshot")
_KEPT = 2


class Snapshots:
    __slots__ = ("_directory", "_disk", "_offsets")

    def __init__(self, disk: Disk, directory: str, names: Iterable[str]) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets = sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))

    def __len__(self) -> int:
        return len(self._offsets)

    def write(self, offset: int, state: LogState) -> File:
        """Not synced; the caller closes it."""
        file = write_cache(self._disk, self._path(offset), state.encode(offset))
        if offset not in self._offsets:
            insort(self._offsets, offset)
        return file

    def restore(self, end_offset: int, segments: Iterable[Segment], now_ms: int) -> tuple[int, LogState]:
        """The newest sound snapshot at or below `end_offset` and what the headers from there to it add."""
        offset, state = self._newest(end_offset)
        for segment in segments:
            if segment.next_offset > offset and segment.base_offset < end_offset:
                start = segment.position_of(offset)
                for position, header in segment.walk(start, segment.position_of(end_offset)):
                    state.apply(header, now_ms, segment.marker_at(position, header))
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

    def prune(self, recovery_point: int) -> None:
        below = bisect_right(self._offsets, recovery_point)
        self._remove(self._offsets[: max(0, below - _KEPT)])

    def _remove(self, offsets: list[int]) -> None:
        for offset in offsets:
            self._disk.unlink(self._path(offset))
            self._offsets.remove(offset)

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}.snapshot"
