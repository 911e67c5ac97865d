"""The open segment files and loaded indexes of all logs of a broker; least recently used ones go first.

Invariant: a pinned file is never closed (it may hold the pool over its bound for that long), and an index that was
dropped can be loaded or rebuilt again. A file from `open` is good until the next call of the pool: pin it to keep it
longer.
"""

from collections import OrderedDict

from headrace.base.disk import Disk, File
from headrace.log.index import SparseIndex

_EVICTION_TRIES = 8


class FilePool:
    __slots__ = ("_files", "_open_max", "disk", "indexes")

    def __init__(self, disk: Disk, open_max: int = 2000, index_bytes_max: int = 32 << 20) -> None:
        self.disk = disk
        self.indexes = IndexCache(index_bytes_max)
        self._files: OrderedDict[str, File] = OrderedDict()
        self._open_max = open_max

    def __len__(self) -> int:
        return len(self._files)

    def open(self, path: str) -> File:
        file = self._files.get(path)
        if file is not None:
            self._files.move_to_end(path)
            return file
        return self._keep(self.disk.open(path))

    def create(self, path: str) -> File:
        """Creates an empty file, also where an old one was."""
        self.forget(path)
        file = self.disk.open(path, create=True)
        if file.size:
            file.truncate(0)
        return self._keep(file)

    def forget(self, path: str) -> None:
        """Closes the file, once nobody has it pinned: its name is about to go or to mean another file."""
        file = self._files.pop(path, None)
        if file is not None:
            file.close()
        self.indexes.forget(path)

    def _keep(self, file: File) -> File:
        self._files[file.path] = file
        tries = _EVICTION_TRIES
        while len(self._files) > self._open_max and tries:
            self._evict_oldest(file)
            tries -= 1
        return file

    def _evict_oldest(self, newest: File) -> None:
        path, file = next(iter(self._files.items()))
        if file.pins or file is newest:
            self._files.move_to_end(path)
        else:
            del self._files[path]
            file.close()


class IndexCache:
    """The indexes of sealed segments, by the path of their log file, within a bound of bytes."""

    __slots__ = ("_bytes", "_bytes_max", "_indexes")

    def __init__(self, bytes_max: int) -> None:
        self._indexes: OrderedDict[str, SparseIndex] = OrderedDict()
        self._bytes = 0
        self._bytes_max = bytes_max

    def __len__(self) -> int:
        return len(self._indexes)

    def get(self, path: str) -> SparseIndex | None:
        index = self._indexes.get(path)
        if index is not None:
            self._indexes.move_to_end(path)
        return index

    def put(self, path: str, index: SparseIndex) -> None:
        self.forget(path)
        self._indexes[path] = index
        self._bytes += index.size_bytes + _ENTRY_BYTES
        # The newest stays even if it alone is over the bound: its reader is about to use it.
        while self._bytes > self._bytes_max and len(self._indexes) > 1:
            self.forget(next(iter(self._indexes)))

    def forget(self, path: str) -> None:
        index = self._indexes.pop(path, None)
        if index is not None:
            self._bytes -= index.size_bytes + _ENTRY_BYTES


# An empty index with its marks still takes about this much.
_ENTRY_BYTES = 4096
