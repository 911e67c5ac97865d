"""The replacement of segments by their cleaned copies, such that a crash at any step leaves the one or the other.

    {base}-{end}.{run}.cleaned    being written, then synced, by the cleaner          crash: unlinked
    {base}-{end}.swap             named so, and the directory synced: from here on it counts   crash: finished
    originals retired             the log reads the new file; the directory synced once more
    {base}.log                    its last name

Invariant: while a swap file is there, every segment with a base in [base, end) is of no account. So it gets its last
name only after their names are durably gone, and no segment of a later history may begin in that range before.
"""

import re
from typing import NamedTuple

from headrace.base.disk import Disk
from headrace.log.pool import FilePool
from headrace.log.segment import Segment, log_path

CLEANED = ".cleaned"
_SWAP_NAME = re.compile(r"(\d{20})-(\d{20})\.swap")
_SEGMENT_NAME = re.compile(r"(\d{20})\.(?:log|index)")


class CleanedGroup(NamedTuple):
    """Neighbouring segments and the one file that can replace them; `is_same` when there is nothing to replace."""

    base_offset: int
    next_offset: int
    size: int
    path: str
    index_path: str
    is_same: bool


class Swap:
    """A replacement in progress: `old` are the originals, `new` is the cleaned segment."""

    __slots__ = ("index_path", "is_in", "new", "old")

    def __init__(self, old: list[Segment], new: Segment, index_path: str) -> None:
        self.old = old
        self.new = new
        self.index_path = index_path
        self.is_in = False


def cleaned_path(directory: str, base_offset: int, next_offset: int, run: str) -> str:
    """The path of a cleaned file; `run` sets apart the files of a cleaner that outlived its broker."""
    return f"{directory}/{base_offset:020d}-{next_offset:020d}.{run}{CLEANED}"


def swap_path(directory: str, base_offset: int, next_offset: int) -> str:
    return f"{directory}/{base_offset:020d}-{next_offset:020d}.swap"


def sweep_cleaned(disk: Disk, directory: str, run: str) -> None:
    """Unlinks cleaned files that a killed or overtaken run has left."""
    for name in disk.listdir(directory):
        if name.endswith(CLEANED) and f".{run}." in name:
            disk.unlink(f"{directory}/{name}")


def finish_swaps(disk: Disk, directory: str, names: list[str]) -> list[str]:
    """Completes at start the swaps that a crash interrupted, and lists the names that are then there."""
    swaps = [(match, int(match[1]), int(match[2])) for name in names if (match := _SWAP_NAME.fullmatch(name))]
    if not swaps:
        return names
    # Before the originals go: the life that named a swap file may have ended before that name was durable.
    disk.sync_dir_job(directory)()
    for name in names:
        segment = _SEGMENT_NAME.fullmatch(name)
        if segment and any(base <= int(segment[1]) < end for _, base, end in swaps):
            disk.unlink(f"{directory}/{name}")
    disk.sync_dir_job(directory)()
    for match, base, _ in swaps:
        disk.rename(f"{directory}/{match[0]}", log_path(directory, base))
    disk.sync_dir_job(directory)()
    return disk.listdir(directory)


def new_swap(pool: FilePool, directory: str, group: CleanedGroup, old: list[Segment]) -> Swap:
    base, end = group.base_offset, group.next_offset
    path = swap_path(directory, base, end)
    return Swap(old, Segment(pool, path, base, group.size, end, old[0].index_interval_bytes), group.index_path)
