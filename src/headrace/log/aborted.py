"""The stretches of the log that belong to aborted transactions, which a read_committed consumer must skip.

Four columns of plain numbers, in the order of the abort markers. The last, the first offset that was still undecided
right after the abort, bounds the search: a transaction that ended later begins there or above.

Invariant: a row exists as long as its marker is in the log. Derived from headers and markers, kept with the log's
state.
"""

from array import array
from bisect import bisect_left
from typing import NamedTuple


class Aborted(NamedTuple):
    producer_id: int
    first_offset: int


class AbortedIndex:
    __slots__ = ("_first_offsets", "_marker_offsets", "_producer_ids", "_undecided")

    def __init__(self) -> None:
        self._producer_ids = array("q")
        self._first_offsets = array("q")
        self._marker_offsets = array("q")
        self._undecided = array("q")

    def __len__(self) -> int:
        return len(self._marker_offsets)

    def add(self, producer_id: int, first_offset: int, marker_offset: int, undecided: int) -> None:
        self._producer_ids.append(producer_id)
        self._first_offsets.append(first_offset)
        self._marker_offsets.append(marker_offset)
        self._undecided.append(undecided)

    def between(self, offset: int, end_offset: int) -> list[Aborted]:
        """The aborted transactions that reach into [offset, end_offset), ordered by first offset, as consumers rely on."""
        found = []
        for row in range(bisect_left(self._marker_offsets, offset), len(self)):
            if self._first_offsets[row] < end_offset:
                found.append(Aborted(self._producer_ids[row], self._first_offsets[row]))
            if self._undecided[row] >= end_offset:
                break
        found.sort(key=lambda aborted: aborted.first_offset)
        return found

    def trim_start(self, start_offset: int) -> None:
        """Drops the transactions that end below `start_offset`, where the log begins now."""
        gone = bisect_left(self._marker_offsets, start_offset)
        if gone:
            for column in self._columns:
                del column[:gone]

    @property
    def _columns(self) -> tuple["array[int]", "array[int]", "array[int]", "array[int]"]:
        return self._producer_ids, self._first_offsets, self._marker_offsets, self._undecided

    def encode(self) -> bytes:
        whole = array("q")
        for column in self._columns:
            whole.extend(column)
        whole.byteswap()
        return whole.tobytes()

    @classmethod
    def decode(cls, content: bytes) -> "AbortedIndex":
        index = cls()
        whole = array("q", content)
        whole.byteswap()
        count = len(whole) // 4
        for number, column in enumerate(index._columns):
            column.extend(whole[number * count : (number + 1) * count])
        return index
