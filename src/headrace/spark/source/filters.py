"""Filters of a batch read that need not be read for: on topic, partition, offset, and the lower bound of a time.

The first three are exact, so Spark need not look at them again. Times are not in the order of offsets: all that is
certain is that no record before the first one of a time is that late, so Spark filters what we return once more.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from headrace.base.ids import TopicPartition

_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")
_END = 2**63 - 1


class Narrowed(NamedTuple):
    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    offset_min: int = 0
    offset_limit: int = _END
    time_min: int | None = None

    def has(self, id: TopicPartition) -> bool:
        in_topics = self.topics is None or id.topic in self.topics
        return in_topics and (self.partitions is None or id.partition in self.partitions)


def narrow(filters: Iterable[Filter]) -> tuple[Narrowed, list[Filter]]:
    """The bounds that the filters leave, and the filters that Spark must apply itself."""
    narrowed, left = Narrowed(), []
    for each in filters:
        closer, is_exact = _closer(narrowed, each)
        narrowed = closer
        if not is_exact:
            left.append(each)
    return narrowed, left


def _closer(narrowed: Narrowed, each: Filter) -> tuple[Narrowed, bool]:
    column: tuple[str, ...] = getattr(each, "attribute", ())
    name = column[0] if len(column) == 1 else ""
    if isinstance(each, IsNotNull):
        return narrowed, name in _NEVER_NULL
    value = getattr(each, "value", None)
    if value is None:
        return narrowed, False
    if name in ("topic", "partition"):
        return _by_place(narrowed, each, name, value)
    if name == "offset" and isinstance(value, int):
        return _by_offset(narrowed, each, value)
    if name == "timestamp" and isinstance(value, datetime):
        return _by_time(narrowed, each, value), False
    return narrowed, False


def _by_place(narrowed: Narrowed, each: Filter, name: str, value: Any) -> tuple[Narrowed, bool]:
    if isinstance(each, EqualTo | EqualNullSafe):
        wanted = frozenset([value])
    elif isinstance(each, In):
        wanted = frozenset(value)
    else:
        return narrowed, False
    if name == "topic":
        return narrowed._replace(topics=wanted if narrowed.topics is None else narrowed.topics & wanted), True
    return narrowed._replace(partitions=wanted if narrowed.partitions is None else narrowed.partitions & wanted), True


def _by_offset(narrowed: Narrowed, each: Filter, value: int) -> tuple[Narrowed, bool]:
    low, limit = 0, _END
    if isinstance(each, EqualTo | EqualNullSafe):
        low, limit = value, value + 1
    elif isinstance(each, GreaterThan):
        low = value + 1
    elif isinstance(each, GreaterThanOrEqual):
        low = value
    elif isinstance(each, LessThan):
        limit = value
    elif isinstance(each, LessThanOrEqual):
        limit = value + 1
    else:
        return narrowed, False
    return narrowed._replace(
        offset_min=max(narrowed.offset_min, low), offset_limit=min(narrowed.offset_limit, limit)
    ), True


def _by_time(narrowed: Narrowed, each: Filter, value: datetime) -> Narrowed:
    if not isinstance(each, EqualTo | EqualNullSafe | GreaterThan | GreaterThanOrEqual):
        return narrowed
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    # Rounded down: a record's time has milliseconds only.
    milliseconds = max(0, int(aware.timestamp() * 1000))
    return narrowed._replace(time_min=max(narrowed.time_min or 0, milliseconds))
