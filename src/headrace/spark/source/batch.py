"""The batch side of the source: `spark.read.format("headrace")`.

Offsets are resolved when Spark plans the read; the tasks then read fixed ranges. Column pruning is `.schema(…)`: Spark
tells a Python source nothing of the columns that a query uses.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from headrace.spark.executor_login import executor_security, reading
from headrace.spark.frozen_modules import freeze_loaded
from headrace.spark.loop_thread import loop_thread
from headrace.spark.options import HiddenOptions
from headrace.spark.plain_words import READING, in_plain_words
from headrace.spark.source.columns import check_schema
from headrace.spark.source.filters import Narrowed, narrow
from headrace.spark.source.options import SourceOptions, source_options
from headrace.spark.source.plan import plan_ranges
from headrace.spark.source.ranges import OffsetRange
from headrace.spark.source.rows import read_rows
from headrace.spark.source.subscription import PlanOffsets, find_partitions


class RangePartition(InputPartition):
    """The offset ranges that one task reads, and the login by which it does."""

    def __init__(self, *ranges: OffsetRange, security: HiddenOptions) -> None:
        super().__init__(ranges)
        self.ranges = ranges
        self.security = security


class TaskReader:
    """The half of a reader that tasks have. Spark sends it to them whole: without the login of the options."""

    _options: SourceOptions
    _schema: StructType

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_options": self._options._replace(security=HiddenOptions())}

    def read(self, partition: InputPartition) -> Iterator[Any]:
        # Spark turns an empty plan into one partition of nothing.
        if isinstance(partition, RangePartition):
            freeze_loaded("read")
            options = self._options._replace(security=partition.security)
            for each in partition.ranges:
                yield from read_rows(options, self._schema, each)


def planned(options: SourceOptions, tasks: Iterable[Sequence[OffsetRange]]) -> list[InputPartition]:
    """A partition for each task, with a login that may read what all of them do."""
    tasks = list(tasks)
    topics = [each.id.topic for task in tasks for each in task]
    security = executor_security(options, reading(topics, options.dead_letter_topic))
    return [RangePartition(*task, security=security) for task in tasks]


class BatchSource(TaskReader, DataSourceReader):
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = source_options(options, is_streaming=False)
        self._schema = schema
        self._narrowed = Narrowed()
        check_schema(self._options, schema)

    def partitions(self) -> list[InputPartition]:
        with in_plain_words(self._options.bootstrap, READING):
            ranges = loop_thread().run(_plan(self._options, self._narrowed))
            return planned(self._options, ([each] for each in ranges)) if ranges else []


class FilteringBatchSource(BatchSource):
    """Spark refuses a reader that takes filters in a session that has not switched them on."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._narrowed, left = narrow(filters)
        return left


async def _plan(options: SourceOptions, narrowed: Narrowed) -> list[OffsetRange]:
    found = await find_partitions(options)
    ids = [id for id in found.partitions if narrowed.has(id)]
    if options.starting.each or options.ending.each:
        # What these name is held against all partitions, so that a filter changes no error.
        ids = found.partitions
    offsets = PlanOffsets(options, ids)
    starts, limits = await offsets.starting(), await offsets.ending()
    if narrowed.time_min is not None:
        later = await offsets.at(narrowed.time_min)
        starts = {id: max(starts[id], offset if offset >= 0 else limits[id]) for id, offset in later.items()}
    # A filter makes a range shorter, down to nothing, and never one that lies outside of what is there.
    starts = {id: max(starts[id], min(narrowed.offset_min, limits[id])) for id in ids if narrowed.has(id)}
    limits = {id: min(limits[id], max(narrowed.offset_limit, start)) for id, start in starts.items()}
    return await plan_ranges(offsets, starts, limits)
