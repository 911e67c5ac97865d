"""The ranges that a query's tasks read, checked against what is still there."""

import asyncio
from collections.abc import Mapping

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.spark.source.lost_records import LostRecords, report
from headrace.spark.source.options import SourceOptions
from headrace.spark.source.ranges import OffsetRange, split_ranges
from headrace.spark.source.subscription import PlanOffsets


async def plan_ranges(
    offsets: PlanOffsets, starts: Mapping[TopicPartition, int], limits: Mapping[TopicPartition, int]
) -> list[OffsetRange]:
    begins, ends = await asyncio.gather(offsets.at(EARLIEST), offsets.at(LATEST))
    options = offsets.options
    ranges = []
    for id, limit in sorted(limits.items()):
        # A partition that was added since the query began is read from its first record.
        first = _after_losses(options, id, starts.get(id, 0), limit, begins[id], ends[id])
        ranges.append(OffsetRange(id, first, min(limit, ends[id])))
    return split_ranges(ranges, options.max_records_per_partition, options.min_partitions)


def _after_losses(options: SourceOptions, id: TopicPartition, first: int, limit: int, begin: int, end: int) -> int:
    if first < begin and first < limit:
        report(options, LostRecords(id, first, min(begin, limit), f"the partition begins at {begin}"))
        return begin
    if max(first, limit) > end:
        why = f"the partition ends at {end}, so the topic was made anew, or these offsets are of another cluster"
        report(options, LostRecords(id, min(first, end), max(first, limit), why))
    return first
