"""Ranges of offsets: what one task reads, and how much of what is there one micro-batch takes. Calculations only."""

from collections.abc import Iterable, Mapping
from math import ceil, floor
from typing import NamedTuple

from headrace.base.ids import TopicPartition


class OffsetRange(NamedTuple):
    """Offsets of a partition, `first` included and `limit` not."""

    id: TopicPartition
    first: int
    limit: int

    @property
    def size(self) -> int:
        return self.limit - self.first

    def __str__(self) -> str:
        return f"{self.id}, offsets {self.first} to {self.limit - 1}"


def split_ranges(ranges: Iterable[OffsetRange], records_max: int = 0, count_min: int = 0) -> list[OffsetRange]:
    """No more than `records_max` in each, then about `count_min` of them or more, the larger ones cut most."""
    parts = [part for whole in ranges if whole.size > 0 for part in _cut(whole, _parts_by_size(whole, records_max))]
    total = sum(part.size for part in parts)
    if len(parts) >= count_min or not total:
        return parts
    return [part for whole in parts for part in _cut(whole, max(1, round(whole.size / total * count_min)))]


def _parts_by_size(whole: OffsetRange, records_max: int) -> int:
    return ceil(whole.size / records_max) if records_max else 1


def _cut(whole: OffsetRange, count: int) -> list[OffsetRange]:
    count = min(count, whole.size)
    edges = [whole.first + whole.size * i // count for i in range(count + 1)]
    return [OffsetRange(whole.id, edges[i], edges[i + 1]) for i in range(count)]


def shared_out(ranges: list[OffsetRange], is_few: bool) -> list[tuple[OffsetRange, ...]]:
    """The ranges of each task: one, or all of them where they are few: a task costs more than some hundred records."""
    if is_few and ranges:
        return [tuple(ranges)]
    return [(each,) for each in ranges]


def take(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], offsets_max: int
) -> dict[TopicPartition, int]:
    """Where a micro-batch of that many offsets ends: each partition gives by its backlog, and none nothing."""
    backlog = {id: max(0, end - starts[id]) for id, end in ends.items()}
    total = sum(backlog.values())
    if total <= offsets_max:
        return dict(ends)
    shares = {id: offsets_max * size / total for id, size in backlog.items()}
    return {
        id: min(end, starts[id] + (ceil(shares[id]) if shares[id] < 1 else floor(shares[id])))
        for id, end in ends.items()
    }
