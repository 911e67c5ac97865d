"""The replacement of segments by their cleaned copies, such that a crash at any step leaves the one or the other.

    {base}-{end}.{run}.cleaned    being written, then synced, by the cleaner          crash: unlinked
    {base}-{end}.swap             named so, and the directory synced: from here on it counts   crash: finished
    originals retired             the log reads the new file; the directory synced once more
    {base}.log                    its last name

Invariant: while a swap file is there, every segment with a base in [base, end) is of no account. So it gets its last
name only after their names are durably gone, and no segment of a later history may begin in that range before.
"""

from typing import NamedTuple

from headrace.log.segment import Segment, log_path
from headrace.log.segments import LogSegments
from headrace.log.swap_files import swap_path


class CleanedGroup(NamedTuple):
    """Neighbouring segments and the one file that can replace them; `is_same` when there is nothing to replace."""

    base_offset: int
    next_offset: int
    size: int
    path: str
    index_path: str
    is_same: bool


class Swap:
    """A replacement in progress. Between its steps the directory is to be synced, off the loop."""

    __slots__ = ("_index_path", "_is_in", "_new", "_old", "_segments")

    def __init__(self, segments: LogSegments, old: list[Segment], new: Segment, index_path: str) -> None:
        self._segments = segments
        self._old = old
        self._new = new
        self._index_path = index_path
        self._is_in = False

    def put_in(self) -> bool:
        """Reads from the cleaned file from here on. False when the originals went meanwhile, and it with them."""
        segments = self._segments
        if segments.swap is not self:
            return False
        if not segments.are_sealed(self._old):
            self._give_up()
            return False
        segments.replace(self._old, self._new)
        segments.disk.rename(self._index_path, self._new.index_path)
        self._is_in = True
        return True

    def finish(self) -> None:
        """Gives the cleaned file its last name: the originals are gone for good."""
        segments, new = self._segments, self._new
        if segments.swap is not self:
            return
        segments.swap = None
        if new in segments.all:
            path = log_path(segments.directory, new.base_offset)
            segments.disk.rename(new.log_path, path)
            segments.pool.forget(new.log_path)
            new.log_path = path
            segments.sync.touch_directory(segments.directory)

    def end(self) -> None:
        """Finishes or gives up at once. Blocks; hardly ever needed."""
        if not self._is_in:
            self._give_up()
        self._segments.disk.sync_dir_job(self._segments.directory)()
        self.finish()

    def _give_up(self) -> None:
        self._segments.disk.unlink(self._new.log_path)
        self._segments.swap = None


def begin_swap(segments: LogSegments, group: CleanedGroup, old: list[Segment], truncations: int) -> Swap | None:
    """Names the cleaned file as the one that counts. None when the log is no longer what was cleaned: `truncations` is how
    often it had been cut when the cleaning began."""
    assert segments.swap is None, "one swap at a time"
    if truncations != segments.sync.truncations or not segments.are_sealed(old):
        return None
    base, end = group.base_offset, group.next_offset
    path = swap_path(segments.directory, base, end)
    segments.disk.rename(group.path, path)
    new = Segment(segments.pool, path, base, group.size, end, old[0].index_interval_bytes)
    swap = segments.swap = Swap(segments, old, new, group.index_path)
    return swap
