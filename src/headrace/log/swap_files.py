"""The names of a replacement of segments by their cleaned copies, and what a start makes of those that a crash left.

`swap` says in which order they come, and why. Invariant: a `.cleaned` file is of no account; a `.swap` file counts, and
every segment with a base in its range does not.
"""

import re

from headrace.base.disk import Disk
from headrace.log.segment import log_path

CLEANED = ".cleaned"
_SWAP_NAME = re.compile(r"(\d{20})-(\d{20})\.swap")
_SEGMENT_NAME = re.compile(r"(\d{20})\.(?:log|index)")


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
