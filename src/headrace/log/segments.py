"""The segments of one log: the files that hold it, oldest first. All but the last are sealed, the last one is active.

Invariant: never empty once the log is open; each begins at or above the end of the one before it. A change of names notes
the directory for the next sync. Does not decide when to roll or what to let go of: the log does.
"""

from bisect import bisect_right
from typing import Protocol

from headrace.base.disk import Disk
from headrace.log.directory import retire
from headrace.log.pool import FilePool
from headrace.log.segment import Segment, log_path
from headrace.log.sync import SyncState


class Replacement(Protocol):
    """A swap by compaction that is under way: see `swap`."""

    def end(self) -> None: ...


class LogSegments:
    __slots__ = ("_retired", "active", "all", "directory", "pool", "swap", "sync")

    active: Segment

    def __init__(self, pool: FilePool, directory: str, sync: SyncState) -> None:
        self.pool = pool
        self.directory = directory
        self.sync = sync
        self.all: list[Segment] = []
        """Oldest first; for others to look at."""
        self.swap: Replacement | None = None
        self._retired: list[str] = []

    @property
    def disk(self) -> Disk:
        return self.pool.disk

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.all)

    # Growing

    def take_up(self, segments: list[Segment]) -> None:
        """Goes on with the segments of an earlier life."""
        self.all = segments
        self.active = segments[-1]
        self._assert_joined()

    def begin_at(self, base_offset: int, index_interval_bytes: int) -> None:
        """Makes a new segment the active one."""
        assert not self.all or base_offset == self.active.next_offset, (self.directory, base_offset)
        path = log_path(self.directory, base_offset)
        self.pool.create(path)
        segment = Segment(self.pool, path, base_offset, 0, base_offset, index_interval_bytes)
        segment.begin_empty()
        self.all.append(segment)
        self.active = segment
        self.sync.touch_directory(self.directory)

    def write_index(self, segment: Segment) -> None:
        file = segment.write_index()
        self.sync.touch(file)
        file.close()

    # Finding

    def index_of(self, offset: int) -> int:
        """The place among all of the one that holds `offset`: most calls are for the last."""
        if offset >= self.active.base_offset:
            return len(self.all) - 1
        return max(0, bisect_right(self.all, offset, key=_base_offset) - 1)

    def has_below(self, start_offset: int) -> bool:
        """Whether a sealed segment lies wholly below this offset."""
        oldest = self.all[0]
        return oldest is not self.active and oldest.next_offset <= start_offset

    def are_sealed(self, old: list[Segment]) -> bool:
        """Whether these are in the log still, sealed and in a row."""
        if old[-1] is self.active or old[0] not in self.all:
            return False
        at = self.all.index(old[0])
        return self.all[at : at + len(old)] == old

    # Shrinking

    def cut(self, offset: int) -> None:
        """Cuts the batches with offsets at or above `offset`, which is not below the first segment."""
        at = self.index_of(offset)
        self.drop(self.all[at + 1 :])
        del self.all[at + 1 :]
        self.active = active = self.all[at]
        active.cut(offset)
        assert active.next_offset <= offset, (active.log_path, active.next_offset, offset)
        self.disk.unlink(active.index_path)
        self.sync.touch(active.file)

    def drop_all(self) -> None:
        """Leaves none: the log begins anew."""
        self.drop(self.all)
        self.all = []

    def retire_below(self, start_offset: int) -> list[str]:
        """Lets go of the sealed segments below `start_offset`. Returns the paths to unlink off the loop."""
        gone = 0
        while self.all[gone] is not self.active and self.all[gone].next_offset <= start_offset:
            gone += 1
        self.drop(self.all[:gone])
        del self.all[:gone]
        assert self.all[-1] is self.active, self.directory
        return self.take_retired()

    def replace(self, old: list[Segment], new: Segment) -> None:
        """Puts the cleaned segment in the place of its originals."""
        at = self.all.index(old[0])
        self.drop(old)
        self.all[at : at + len(old)] = [new]
        self._assert_joined()

    def drop(self, segments: list[Segment]) -> None:
        """Takes the names of segments away; the caller has taken them off the list, or is about to."""
        for segment in segments:
            self.sync.forget(segment.log_path)
            self.sync.forget(segment.index_path)
            self._retired.append(retire(self.pool, segment))
        if segments:
            self.sync.touch_directory(self.directory)

    def take_retired(self) -> list[str]:
        """Hands over the paths of retired segments that are still to be unlinked."""
        retired, self._retired = self._retired, []
        return retired

    def end_swap(self) -> None:
        """Ends a swap before a cut: a crash after the cut must not find a swap file that stands for more."""
        if self.swap is not None:
            self.swap.end()

    def close(self) -> None:
        self.swap = None
        for segment in self.all:
            self.pool.forget(segment.log_path)

    def _assert_joined(self) -> None:
        end_offset = 0
        for segment in self.all:
            assert end_offset <= segment.base_offset <= segment.next_offset, (segment.log_path, end_offset)
            end_offset = segment.next_offset


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
