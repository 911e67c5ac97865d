"""The names in a partition's directory, and what each stands for.

`{base}.log` and `{base}.index` are a segment, `{offset}.snapshot` the state there. `*.deleted` was given up by the log
and awaits its unlink, which takes long for a large file and so is not for the event loop; `*.tmp` and `*.cleaned` were
never finished; `*.swap` is explained in `swap_files`.
"""

import re

from headrace.base.disk import Disk
from headrace.log.pool import FilePool
from headrace.log.segment import Segment, log_path
from headrace.log.swap_files import CLEANED, finish_swaps

DELETED = ".deleted"
_LEFT_OVER = (DELETED, ".tmp", CLEANED)
_LOG_NAME = re.compile(r"(\d{20})\.log")
_INDEX_NAME = re.compile(r"(\d{20})\.index")


def sweep(disk: Disk, directory: str) -> list[str]:
    """Unlinks the unfinished and given-up files of the last process, and lists the rest."""
    names = finish_swaps(disk, directory, disk.listdir(directory))
    logs = {match[1] for name in names if (match := _LOG_NAME.fullmatch(name))}
    kept = []
    for name in names:
        index = _INDEX_NAME.fullmatch(name)
        if name.endswith(_LEFT_OVER) or (index and index[1] not in logs):
            disk.unlink(f"{directory}/{name}")
        else:
            kept.append(name)
    return kept


def list_segments(pool: FilePool, directory: str, names: list[str], index_interval_bytes: int) -> list[Segment]:
    """The segments in order of offset, known by name and size only: nothing is opened, however many there are."""
    bases = sorted(int(match[1]) for name in names if (match := _LOG_NAME.fullmatch(name)))
    segments = []
    for base, following in zip(bases, [*bases[1:], bases[-1]] if bases else [], strict=True):
        path = log_path(directory, base)
        segments.append(Segment(pool, path, base, pool.disk.size(path), following, index_interval_bytes))
    return segments


def retire(pool: FilePool, segment: Segment) -> str:
    """Takes the segment's names away at once; readers that have it pinned go on. Returns the path to unlink."""
    pool.forget(segment.log_path)
    retired = segment.log_path + DELETED
    pool.disk.rename(segment.log_path, retired)
    pool.disk.unlink(segment.index_path)
    return retired


def retire_directory(disk: Disk, directory: str) -> str:
    """Renames a partition's directory, as `retire` does files; the name is free for a new one at once."""
    attempt = 0
    while disk.exists(retired := f"{directory}.{attempt}{DELETED}"):
        attempt += 1
    disk.rename(directory, retired)
    return retired
