"""Messages that are nothing but short text, as columns: a large POST makes no object for each of its messages.

Each character stands for one byte of UTF-8 (Latin-1). ASCII is that as it is, and nothing is encoded before its batch is.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, cast, overload

from headrace.client.produce.outgoing import Outgoing

# A longer text costs its bytes, not its object.
SIZE_MAX = 1 << 12


class Texts(Sequence[Outgoing]):
    """`sizes` are those of the values: to look at many texts again is to fetch them from memory again."""

    def __init__(self, values: Sequence[str], sizes: Sequence[int], keys: Sequence[str] | None) -> None:
        self.values = values
        self.sizes = sizes
        self.keys = keys

    @overload
    def __getitem__(self, at: int) -> Outgoing: ...

    @overload
    def __getitem__(self, at: slice) -> "Texts": ...

    def __getitem__(self, at: int | slice) -> "Outgoing | Texts":
        if isinstance(at, slice):
            return Texts(self.values[at], self.sizes[at], None if self.keys is None else self.keys[at])
        return Outgoing(_bytes(self.values[at]), None if self.keys is None else _bytes(self.keys[at]))

    def __len__(self) -> int:
        return len(self.values)

    def picked(self, indexes: Sequence[int]) -> "Texts":
        keys = None if self.keys is None else _picked(self.keys, indexes)
        return Texts(_picked(self.values, indexes), _picked(self.sizes, indexes), keys)


def as_texts(values: Sequence[object], keys: Sequence[object] | None) -> Texts | None:
    """The messages as columns; None if there is one that is no text."""
    value_texts = _bytewise(values)
    key_texts = None if keys is None else _bytewise(keys)
    if value_texts is None or (key_texts is None and keys is not None):
        return None
    sizes = list(map(len, value_texts))
    if max(sizes) >= SIZE_MAX or max(map(len, key_texts or ()), default=0) >= SIZE_MAX:
        return None
    return Texts(value_texts, sizes, key_texts)


def _bytewise(column: Sequence[object]) -> Sequence[str] | None:
    if set(map(type, column)) != {str}:
        return None
    texts = cast(Sequence[str], column)
    if all(map(str.isascii, texts)):
        return texts
    return [text if text.isascii() else text.encode().decode("latin-1") for text in texts]


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


def _picked(column: Sequence[Any], indexes: Sequence[int]) -> Sequence[Any]:
    return itemgetter(*indexes)(column) if len(indexes) > 1 else [column[indexes[0]]]
