"""The streaming side of the source: `spark.readStream.format("headrace")`.

Spark keeps the offsets in its checkpoint and asks, for every micro-batch, how far to read; the answer waits a little for
news, so an idle query costs two questions a second and a record is seen as it comes. The first answer to "where do I
begin" is asked for more than once, also by a query that died before its first batch: with `kafka.group.id` it is kept as
the group's offsets until the first batch is done, without it only as long as this process lives.

An object of this class on the driver has state; those that Spark sends to tasks only read.
"""

import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from headrace.base.errors import UserError
from headrace.client.cluster_client import LATEST
from headrace.spark.loop_thread import loop_thread
from headrace.spark.plain_words import READING, in_plain_words
from headrace.spark.source.batch import TaskReader, planned
from headrace.spark.source.columns import check_schema
from headrace.spark.source.group_progress import commit_progress, group_of, keep_start, kept_start
from headrace.spark.source.lost_records import LostRecords, report
from headrace.spark.source.offsets import Offsets, cluster_of, offsets_from_json, offsets_to_json
from headrace.spark.source.options import source_options
from headrace.spark.source.plan import plan_ranges
from headrace.spark.source.ranges import shared_out, take
from headrace.spark.source.record_size import bytes_per_record
from headrace.spark.source.subscription import PlanOffsets, Subscribed, find_partitions, offsets_at

STREAM_POLL_SECONDS = 0.5
# So many records of a micro-batch are read by one task, unless the options ask for more.
FEW_RECORDS = 500
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.005, 0.05

Told = dict[str, dict[str, int]]
T = TypeVar("T")


class StreamSource(TaskReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = source_options(options, is_streaming=True)
        self._schema = schema
        self._initial: Told | None = None
        self._ends: Told | None = None
        self._target: Offsets | None = None
        """Where a query with Trigger.AvailableNow stops."""
        self._last_batch_at = 0.0
        self._cluster_id: str | None = None
        check_schema(self._options, schema)

    # -- offsets, on the driver -------------------------------------------------------------------------------------

    def initialOffset(self) -> Told:
        if self._initial is None:
            with in_plain_words(self._options.bootstrap, READING):
                found = self._find()
                starts = self._ask(kept_start(group_of(self._options), found.partitions))
                if starts is None:
                    starts = self._ask(PlanOffsets(self._options, found.partitions).starting())
                    self._ask(keep_start(group_of(self._options), starts))
                self._initial = offsets_to_json(starts, found.cluster_id)
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        """A word of Spark's for the options; what is meant is in them, several at a time if wanted."""
        options = self._options
        if options.max_offsets:
            return ReadMaxRows(options.max_offsets)
        if options.max_bytes:
            return ReadMaxBytes(options.max_bytes)
        return ReadMinRows(options.min_offsets) if options.min_offsets else ReadAllAvailable()

    def latestOffset(self, start: Told, limit: ReadLimit) -> Told:
        with in_plain_words(self._options.bootstrap, READING):
            found = self._find()
            self._check_cluster(start)
            starts = self._starts(offsets_from_json(start), found)
            ends = self._until_news(starts, found, is_all_wanted=isinstance(limit, ReadAllAvailable))
            if ends is None:
                return start
            if not isinstance(limit, ReadAllAvailable):
                ends = self._limited(starts, ends)
            self._last_batch_at = time.monotonic()
            return offsets_to_json(ends, found.cluster_id)

    def reportLatestOffset(self) -> Told | None:
        return self._ends

    def prepareForTriggerAvailableNow(self) -> None:
        with in_plain_words(self._options.bootstrap, READING):
            self._target = self._ask(offsets_at(self._options, self._find().partitions, LATEST))

    def commit(self, end: Told) -> None:
        """Spark has written down that everything before is done; so lag tools see it, a batch late."""
        with in_plain_words(self._options.bootstrap, READING):
            self._ask(commit_progress(group_of(self._options), offsets_from_json(end)))

    def _until_news(self, starts: Offsets, found: Subscribed, is_all_wanted: bool) -> Offsets | None:
        """The ends of the partitions as soon as there is enough to read, or None after a while."""
        deadline, pause = time.monotonic() + STREAM_POLL_SECONDS, PAUSE_SECONDS_MIN
        while True:
            ends = self._ask(offsets_at(self._options, found.partitions, LATEST))
            self._ends = offsets_to_json(ends, found.cluster_id)
            ends = self._within_target(starts, ends)
            if self._is_enough(starts, ends, is_all_wanted):
                return ends
            if self._target is not None or time.monotonic() + pause > deadline:
                return None
            time.sleep(pause)
            pause = min(1.5 * pause, PAUSE_SECONDS_MAX)

    def _is_enough(self, starts: Offsets, ends: Offsets, is_all_wanted: bool) -> bool:
        news = sum(max(0, end - starts[id]) for id, end in ends.items())
        if news == 0:
            return False
        if is_all_wanted or self._target is not None or news >= self._options.min_offsets:
            return True
        return (time.monotonic() - self._last_batch_at) * 1000 >= self._options.max_delay_ms

    def _within_target(self, starts: Offsets, ends: Offsets) -> Offsets:
        """A partition never goes back: its end may lie before its start for a moment after a leader has died."""
        if self._target is not None:
            ends = {id: min(end, self._target.get(id, 0)) for id, end in ends.items()}
        return {id: max(end, starts[id]) for id, end in ends.items()}

    def _limited(self, starts: Offsets, ends: Offsets) -> Offsets:
        if self._options.max_offsets:
            ends = take(starts, ends, self._options.max_offsets)
        if self._options.max_bytes:
            size = self._ask(bytes_per_record(self._options, starts, ends))
            ends = take(starts, ends, max(1, int(self._options.max_bytes / size)))
        return ends

    def _starts(self, starts: Offsets, found: Subscribed) -> Offsets:
        """The query's start offsets, and 0 for partitions that were added since; one that is gone is reported as a loss."""
        there = set(found.partitions)
        for id in sorted(starts.keys() - there):
            report(self._options, LostRecords(id, starts[id], starts[id], "the topic or partition is gone"))
        return {id: starts.get(id, 0) for id in found.partitions}

    def _check_cluster(self, start: Told) -> None:
        if self._cluster_id is None:
            self._find()
        stored = cluster_of(start)
        if stored and stored != self._cluster_id:
            raise UserError(
                f"this checkpoint is of cluster {stored}, {self._options.bootstrap} is cluster {self._cluster_id}",
                "start with a new checkpointLocation, or look at kafka.bootstrap.servers",
            )

    def _find(self) -> Subscribed:
        found = self._ask(find_partitions(self._options))
        self._cluster_id = found.cluster_id
        return found

    @staticmethod
    def _ask(question: Coroutine[Any, Any, T]) -> T:
        return loop_thread().run(question)

    # -- tasks ------------------------------------------------------------------------------------------------------

    def partitions(self, start: Told, end: Told) -> list[InputPartition]:
        starts, limits = offsets_from_json(start), offsets_from_json(end)
        with in_plain_words(self._options.bootstrap, READING):
            # A batch that died half-way is planned from the checkpoint alone.
            self._check_cluster(end)
            ranges = self._ask(plan_ranges(PlanOffsets(self._options, limits), starts, limits))
            tasks = list(shared_out(ranges, self._is_few(starts, limits)))
            return planned(self._options, tasks) if tasks else []

    def _is_few(self, starts: Offsets, limits: Offsets) -> bool:
        """Whether the records are few, told from the checkpoint alone: a batch that is repeated has to have the same
        tasks.
        """
        if self._options.min_partitions or self._options.max_records_per_partition:
            return False
        return sum(limit - starts.get(id, 0) for id, limit in limits.items()) <= FEW_RECORDS
