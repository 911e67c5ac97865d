"""One segment: a log file that starts at `base_offset`, and the sparse index over it.

    active   its index lives here and grows with each append; nothing of it is on disk
    sealed   its index is in a file and comes into the pool's cache when first asked for

Invariant: [0, size) of the log file is whole batches with rising offsets in [base_offset, next_offset). A sealed
segment that was only listed knows its size and the base of the one after it, and has opened nothing. Does not decide
when to roll, sync or delete: the log does.
"""

import contextlib
from collections.abc import Iterator

from headrace.base.disk import File
from headrace.base.errors import DiskFull
from headrace.log.index import NO_TIMESTAMP, IndexSummary, SparseIndex
from headrace.log.index_file import read_index, read_summary, write_index
from headrace.log.pool import FilePool
from headrace.log.walk import SWEEP_BYTES, position_of, steps, walk
from headrace.wire.batch import BatchHeader

RELATIVE_OFFSET_MAX = (1 << 31) - 1


def log_path(directory: str, base_offset: int) -> str:
    return f"{directory}/{base_offset:020d}.log"


class Segment:
    __slots__ = (
        "_index",
        "_indexed_position",
        "_max_timestamp",
        "_pool",
        "base_offset",
        "first_append_ms",
        "index_interval_bytes",
        "log_path",
        "next_offset",
        "size",
    )

    def __init__(self, pool: FilePool, path: str, base_offset: int, size: int, next_offset: int, interval: int) -> None:
        self._pool = pool
        self.log_path = path
        self.base_offset = base_offset
        self.size = size
        self.next_offset = next_offset
        self.index_interval_bytes = interval
        self.first_append_ms = 0
        self._index: SparseIndex | None = None
        self._indexed_position = 0
        self._max_timestamp: int | None = None

    @property
    def index_path(self) -> str:
        # Not from the log's own name: a cleaned segment has another one for a while.
        return f"{self.log_path.rpartition('/')[0]}/{self.base_offset:020d}.index"

    @property
    def file(self) -> File:
        return self._pool.open(self.log_path)

    @property
    def index(self) -> SparseIndex:
        index = self._index
        if index is None:
            index = self._pool.indexes.get(self.log_path)
        return index if index is not None else self._load_index()

    @property
    def max_timestamp(self) -> int:
        if self._max_timestamp is None:
            self._max_timestamp = self._load_max_timestamp()
        return self._max_timestamp

    # Growing

    def begin_empty(self) -> None:
        self.size, self.next_offset = 0, self.base_offset
        self._index, self._indexed_position, self._max_timestamp = SparseIndex(), 0, NO_TIMESTAMP

    def add(self, header: BatchHeader) -> None:
        """Takes note of a batch that now stands at the end of the file."""
        index, position = self._index, self.size
        assert index is not None, f"{self.log_path} is sealed"
        if position - self._indexed_position >= self.index_interval_bytes:
            index.add(header.base_offset - self.base_offset, position, self.max_timestamp)
            self._indexed_position = position
        if header.max_timestamp > self._max_timestamp:  # type: ignore[operator]  # never None while active
            self._max_timestamp = header.max_timestamp
        if position == 0:
            # As good a guess as a recovery can make; the log knows better when it appends.
            self.first_append_ms = header.max_timestamp
        self.size = position = position + header.batch_length + 12
        self.next_offset = next_offset = header.base_offset + header.last_offset_delta + 1
        index.mark(next_offset, position)

    def seal(self) -> None:
        assert self._index is not None, f"{self.log_path} is sealed already"
        self._pool.indexes.put(self.log_path, self._index)
        self._index = None

    def write_index(self, path: str | None = None) -> File:
        """Writes the index, beside the log file or to `path`. The caller closes it."""
        index = self.index
        summary = IndexSummary(
            self.base_offset, self.size, self.next_offset, self.max_timestamp, self.first_append_ms, len(index)
        )
        return write_index(self._pool.disk, path or self.index_path, index, summary)

    # Shrinking

    def cut(self, offset: int) -> None:
        """Drops the batches that reach to `offset` or above; the segment is active from then on."""
        position = self.position_of(offset)
        index = self.index
        self._pool.indexes.forget(self.log_path)
        index.cut(position)
        self.file.truncate(position)
        self._index, self.size = index, position
        self._measure_tail(index)

    def _measure_tail(self, index: SparseIndex) -> None:
        """Sets position, largest timestamp and end of the segment from its last index entry and the few batches after
        it."""
        start = index.positions[-1] if index.positions else 0
        newest = index.timestamps[-1] if index.timestamps else NO_TIMESTAMP
        next_offset = self.base_offset
        for _, header in walk(self.file, start, self.size):
            newest = max(newest, header.max_timestamp)
            next_offset = header.next_offset
        self._indexed_position, self._max_timestamp, self.next_offset = start, newest, next_offset

    # Finding

    def position_of(self, offset: int) -> int:
        """The start of the batch that holds `offset`, or of the next one after it, or the end of the file."""
        if offset >= self.next_offset:
            return self.size
        if offset <= self.base_offset:
            return 0
        index = self.index
        position = index.marks.get(offset)
        if position is None:
            position = position_of(offset, self.file, index.position_before(offset - self.base_offset), self.size)
            index.mark(offset, position)
        return position

    def position_near(self, offset: int) -> int:
        """A position as `position_of`, but at most an index interval too early, and without reading the log."""
        if offset >= self.next_offset:
            return self.size
        index = self.index
        position = index.marks.get(offset)
        return position if position is not None else index.position_before(offset - self.base_offset)

    def boundary_within(self, start: int, limit: int, at_least_one: bool) -> tuple[int, int] | None:
        """(position, offset) of the end of the last batch that fits into [start, limit); the index makes it a short
        way.

        May stop up to an index interval early. None when not even the first batch fits, unless it is to go whole.
        """
        found = self.index.boundary_within(start, limit)
        if found is not None:
            return found[0], self.base_offset + found[1]
        best: tuple[int, int] | None = None
        for _, end, next_offset in steps(self.file, start, self.size):
            if end > limit and (best is not None or not at_least_one):
                break
            best = end, next_offset
        return best

    def walk(self, position: int = 0, end: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
        return walk(self.file, position, self.size if end is None else end, SWEEP_BYTES)

    # Loading

    def _load_index(self) -> SparseIndex:
        index = self._read_index()
        if index is not None:
            self._pool.indexes.put(self.log_path, index)
            return index
        index = self._rebuild_index()
        self._pool.indexes.put(self.log_path, index)
        with contextlib.suppress(DiskFull):
            self.write_index().close()
        return index

    def load_active(self) -> bool:
        """Takes up the index a clean stop left behind; False when it is damaged or of another log file."""
        self._index = self._read_index()
        if self._index is not None:
            self._indexed_position = self._index.positions[-1] if self._index.positions else 0
        return self._index is not None

    def _read_index(self) -> SparseIndex | None:
        loaded = read_index(self._pool, self.index_path, self.log_path, self.base_offset, self.size)
        if loaded is None:
            return None
        summary, index = loaded
        self.next_offset = summary.next_offset
        self._max_timestamp, self.first_append_ms = summary.max_timestamp, summary.first_append_ms
        return index

    def _load_max_timestamp(self) -> int:
        summary = read_summary(self._pool.disk, self.index_path, self.base_offset, self.size)
        if summary is not None:
            return summary.max_timestamp
        self._pool.indexes.forget(self.log_path)
        self._load_index()
        assert self._max_timestamp is not None
        return self._max_timestamp

    def _rebuild_index(self) -> SparseIndex:
        rebuilt = Segment(self._pool, self.log_path, self.base_offset, 0, self.base_offset, self.index_interval_bytes)
        rebuilt.begin_empty()
        for _, header in self.walk():
            rebuilt.add(header)
        assert rebuilt._index is not None
        rebuilt._index.marks.clear()
        self._max_timestamp, self.first_append_ms = rebuilt.max_timestamp, rebuilt.first_append_ms
        self.next_offset = rebuilt.next_offset
        return rebuilt._index
