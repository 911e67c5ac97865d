"""The index file beside a segment's log file: neither synced nor atomic, so it is held against the log whenever it is read.

Invariant: what is given back was written whole, of a log file with this base and this size, whose last entry points at its
batch: an index can outlive its log in a crash. Anything else is None, and the caller goes over the log.
"""

from headrace.base.disk import Disk, File
from headrace.log.envelope import write_cache
from headrace.log.index import SUMMARY_BYTES, IndexSummary, SparseIndex, decode_index, decode_summary, encode_index
from headrace.log.pool import FilePool
from headrace.log.walk import walk
from headrace.wire.batch import HEADER_SIZE, CorruptBatch


def write_index(disk: Disk, path: str, index: SparseIndex, summary: IndexSummary) -> File:
    """The file, which the caller closes. Raises DiskFull."""
    assert summary.entries == len(index), (path, summary.entries, len(index))
    assert not index.positions or index.positions[-1] < summary.log_bytes, (path, index.positions[-1], summary)
    return write_cache(disk, path, encode_index(index, summary))


def read_index(
    pool: FilePool, path: str, log_path: str, base_offset: int, size: int
) -> tuple[IndexSummary, SparseIndex] | None:
    """Opens the log file only when there is an entry to hold against it."""
    loaded = decode_index(pool.disk.read(path)) if pool.disk.exists(path) else None
    if loaded is None or not _is_of(loaded[0], base_offset, size):
        return None
    _, index = loaded
    is_sound = not index.positions or _fits(index, base_offset, pool.open(log_path), size)
    return loaded if is_sound else None


def read_summary(disk: Disk, path: str, base_offset: int, size: int) -> IndexSummary | None:
    """The head of the file alone."""
    if not disk.exists(path):
        return None
    file = disk.open(path)
    try:
        summary = decode_summary(file.pread(SUMMARY_BYTES, 0))
    finally:
        file.close()
    return summary if summary is not None and _is_of(summary, base_offset, size) else None


def _is_of(summary: IndexSummary, base_offset: int, size: int) -> bool:
    return (summary.base_offset, summary.log_bytes) == (base_offset, size)


def _fits(index: SparseIndex, base_offset: int, log: File, size: int) -> bool:
    try:
        _, header = next(walk(log, index.positions[-1], size, HEADER_SIZE))
    except (CorruptBatch, StopIteration):
        return False
    return header.base_offset == base_offset + index.offsets[-1]
