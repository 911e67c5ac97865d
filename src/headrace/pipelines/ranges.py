"""Which offsets the next batch reads, and how its tasks share them. Calculations only.

Every partition that has something to read gets a fair part of a batch, so that none waits for another to be drained.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

Offsets = dict[int, int]  # the next offset to read, by partition


class OffsetRange(NamedTuple):
    """Offsets of one partition, `end` exclusive. Compaction and transactions may leave fewer records than offsets."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def width(self) -> int:
        return self.end - self.start


def plan_batch(topic: str, start: Mapping[int, int], end: Mapping[int, int], offsets_max: int) -> list[OffsetRange]:
    """At most about `offsets_max` offsets, from each partition in proportion to what it has, at least one from each."""
    backlog = {partition: end[partition] - start[partition] for partition in sorted(end)}
    total = lag_of(start, end)
    share = min(1.0, offsets_max / total) if total else 0.0
    return [
        OffsetRange(topic, partition, start[partition], start[partition] + max(1, int(waiting * share)))
        for partition, waiting in backlog.items()
        if waiting > 0
    ]


def split(ranges: list[OffsetRange], tasks: int) -> list[OffsetRange]:
    """The same offsets in about `tasks` pieces of equal width, none of them over a partition's border."""
    total = sum(each.width for each in ranges)
    width = max(1, -(-total // max(tasks, 1)))
    return [piece for each in ranges for piece in _pieces(each, -(-each.width // width))]


def end_of(start: Mapping[int, int], ranges: list[OffsetRange]) -> Offsets:
    """Where every partition stands once these ranges are done."""
    ends = dict(start)
    for each in ranges:
        ends[each.partition] = max(ends.get(each.partition, 0), each.end)
    return ends


def lag_of(position: Mapping[int, int], end: Mapping[int, int]) -> int:
    return sum(max(0, end[partition] - position[partition]) for partition in end)


def _pieces(whole: OffsetRange, count: int) -> list[OffsetRange]:
    cuts = [whole.start + whole.width * i // count for i in range(count + 1)]
    return [whole._replace(start=start, end=end) for start, end in pairwise(cuts)]
