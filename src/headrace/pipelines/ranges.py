"""Offsets of a topic that the next batch reads, and where it stands then. Calculations only.

Every partition that has something to read gets a fair part of a batch, so that none waits for another to be drained.
"""

from collections.abc import Iterable, Mapping

from headrace.base.ids import TopicPartition
from headrace.spark.source.ranges import OffsetRange, take

Offsets = dict[int, int]  # the next offset to read, by partition


def plan_batch(topic: str, start: Mapping[int, int], end: Mapping[int, int], offsets_max: int) -> list[OffsetRange]:
    """About `offsets_max` offsets, from each partition in proportion to what it has, at least one from each."""
    ids = {partition: TopicPartition(topic, partition) for partition in sorted(end)}
    ends = take({id: start[p] for p, id in ids.items()}, {id: end[p] for p, id in ids.items()}, offsets_max)
    return [OffsetRange(id, start[p], ends[id]) for p, id in ids.items() if ends[id] > start[p]]


def end_of(start: Mapping[int, int], ranges: Iterable[OffsetRange]) -> Offsets:
    """The next offset of every partition once these ranges are done."""
    return dict(start) | {each.id.partition: each.limit for each in ranges}


def lag_of(position: Mapping[int, int], end: Mapping[int, int]) -> int:
    return sum(max(0, end[partition] - position[partition]) for partition in end)
