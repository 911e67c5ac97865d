"""What a test may ask of a client library. One file beside this one adapts each library to it.

Invariant: an adapter uses the library's public interface with its default settings, apart from what the call names, so
that the requests on the wire are those a stranger's program would send. Adapters hold no retry or repair of their own.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

EARLIEST = -2
LATEST = -1

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

WAIT_S = 30


class Record(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    offset: int | None = None

    @property
    def content(self) -> tuple[object, ...]:
        return self.key, self.value, self.headers


class Refused(Exception):
    """The broker said no, with this Kafka error code."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(f"error code {code}: {message}")
        self.code = code


class Client(Protocol):
    name: str
    can_stamp: bool
    """Whether the client lets its user choose a record's timestamp."""

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int = 0,
        codec: str | None = None,
        idempotent: bool | None = None,
    ) -> None: ...

    def consume(self, topic: str, *, partition: int = 0, offset: int = 0, count: int) -> list[Record]: ...

    def offset_at(self, topic: str, when: int, *, partition: int = 0) -> int:
        """EARLIEST, LATEST, or the first offset whose timestamp is at least `when`."""
        ...

    def topics(self) -> dict[str, int]:
        """Every topic and its number of partitions."""
        ...


class Admin(Protocol):
    name: str

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None: ...

    def partition_count(self, topic: str) -> int: ...

    def delete_topic(self, topic: str) -> None: ...

    def set_config(self, topic: str, name: str, value: str) -> None: ...

    def config(self, topic: str) -> dict[str, str]: ...

    def create_partitions(self, topic: str, total: int) -> None: ...

    def delete_records(self, topic: str, before_offset: int, *, partition: int = 0) -> None: ...
