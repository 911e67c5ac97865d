"""A message to produce, and the place where it was stored."""

from collections.abc import Sequence
from typing import NamedTuple

Headers = Sequence[tuple[str, bytes | None]]


class Outgoing(NamedTuple):
    """Partition -1 leaves the choice to the key's hash, timestamp 0 means now."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers | None = None
    partition: int = -1
    timestamp: int = 0


class Delivered(NamedTuple):
    partition: int
    offset: int
    timestamp: int
