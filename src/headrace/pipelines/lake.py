"""Topic to table. Batch by batch: tasks write Parquet files, then one commit adds them and moves the table's offsets.

The table is the only memory of the job: its offsets say where the next run goes on, and a commit that does not begin where
the table ends is refused. A driver that dies leaves files that no commit names; they count for nobody and are deleted
later. So every record is in the table once, whatever was killed when.
"""

import datetime
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.base.errors import UserError
from headrace.pipelines.columns import grown
from headrace.pipelines.compaction import compact
from headrace.pipelines.kafka import DEFAULT_BOOTSTRAP, Kafka, TopicBounds, look_at
from headrace.pipelines.lag_group import show_progress
from headrace.pipelines.lake_rows import LakeWork, WrittenFiles, write_range
from headrace.pipelines.progress import Listener, ProgressClock, ignore
from headrace.pipelines.ranges import Offsets, end_of, lag_of, plan_batch
from headrace.pipelines.records import first_values
from headrace.pipelines.resume import resume
from headrace.pipelines.spark_tasks import parallelism, run_tasks
from headrace.pipelines.tables.open import Format, create_table, find_table
from headrace.pipelines.tables.table import Table, TableSource
from headrace.pipelines.values import Decode, chosen, first_columns
from headrace.spark.source.ranges import OffsetRange, split_ranges

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAKE_BATCH_ROWS = 2_000_000
COMMIT_SECONDS = 30.0
COMPACT_EVERY = 20
FORGET_HOURS = 24.0


class LakeReport(NamedTuple):
    topic: str
    table: str
    format: str
    rows: int
    undecoded: int
    lost: int
    """Offsets that retention had deleted before they were read."""
    batches: int
    seconds: float
    rows_per_second: float
    files: int
    bytes: int
    compacted: int
    deleted: int
    offsets: Offsets


class Lake:
    """One run over one table."""

    def __init__(self, spark: "SparkSession", kafka: Kafka, table: Table, topic: str, clock: ProgressClock) -> None:
        self.spark, self.kafka, self.table, self.topic, self.clock = spark, kafka, table, topic, clock
        self.group = f"headrace-lake-{topic}-{table.path.name}"
        self.undecoded = self.lost = self.compacted = 0

    def catch_up(self, batch_rows: int, allow_loss: bool) -> None:
        """Reads until the table has what the topic had when this began."""
        view = self._look()
        start, lost = resume(view, self.table.offsets(), allow_loss)
        self.lost += lost
        while ranges := plan_batch(self.topic, start, view.end, batch_rows):
            self._batch(ranges, after=end_of(start, ranges), end=view.end)
            start = end_of(start, ranges)

    def _look(self) -> TopicBounds:
        view, source = look_at(self.kafka, self.topic), self.table.source
        if (view.cluster_id, view.topic_id) != (source.cluster_id, source.topic_id):
            raise UserError(
                f"the table has another topic: {source.topic} with id {source.topic_id} of cluster {source.cluster_id}, "
                f"not {view.topic} with id {view.topic_id} of cluster {view.cluster_id}",
                "offsets of one mean nothing in the other: write this topic to a folder of its own",
            )
        return view

    def _batch(self, ranges: list[OffsetRange], after: Offsets, end: Mapping[int, int]) -> None:
        before = self.table.offsets()
        written = self._write(split_ranges(ranges, count_min=parallelism(self.spark)))
        files = [file for each in written for file in each.files]
        self.table.commit(files, before, after)
        show_progress(self.kafka, self.group, self.topic, after)
        self.undecoded += sum(each.undecoded for each in written)
        self.clock.on_batch(sum(each.rows for each in written), lag_of(after, end))

    def _write(self, pieces: list[OffsetRange]) -> list[WrittenFiles]:
        known = self.table.columns()
        written = self._run(pieces)
        columns = grown(known, [each.columns for each in written])
        if columns.equals(known):
            return written
        self.table.grow(columns)
        for file in [file for each in written for file in each.files]:
            Path(file.path).unlink()
        return self._run(pieces)

    def _run(self, pieces: list[OffsetRange]) -> list[WrittenFiles]:
        work = LakeWork(self.kafka, self.table.place, self.table.decode, self.table.columns())
        return run_tasks(self.spark, partial(write_range, work), pieces)

    def report(self, deleted: int) -> LakeReport:
        files = self.table.files()
        return LakeReport(
            topic=self.topic,
            table=str(self.table.path),
            format=self.table.format,
            rows=self.clock.rows,
            undecoded=self.undecoded,
            lost=self.lost,
            batches=self.clock.batches,
            seconds=round(self.clock.seconds, 3),
            rows_per_second=round(self.clock.rows_per_second),
            files=len(files),
            bytes=sum(file.bytes for file in files),
            compacted=self.compacted,
            deleted=deleted,
            offsets=self.table.offsets(),
        )


def lake(
    topic: str,
    to: str | Path,
    *,
    bootstrap: str = DEFAULT_BOOTSTRAP,
    options: Mapping[str, str] | None = None,
    format: Format = "iceberg",
    decode: Decode = "auto",
    schema_file: str | Path | None = None,
    follow: bool = False,
    batch_rows: int = LAKE_BATCH_ROWS,
    allow_data_loss: bool = False,
    forget_hours: float = FORGET_HOURS,
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
    on_progress: Listener = ignore,
) -> LakeReport:
    """Brings the table at `to` up to the topic's end; with `follow`, until it is interrupted.

    The table is made if there is none; of one that is there, its own format and decoding hold. Versions and left-over
    files older than `forget_hours` are deleted at the end.
    """
    kafka = Kafka(bootstrap, options or {})
    view = look_at(kafka, topic)
    table = find_table(to) or _created(to, format, kafka, view, decode, schema_file)
    if spark is None:
        from headrace.spark import session

        spark = session(master, name=f"headrace lake {topic}")
    run = Lake(spark, kafka, table, topic, ProgressClock("lake", on_progress))
    try:
        run.catch_up(batch_rows, allow_data_loss)
        while follow:
            time.sleep(COMMIT_SECONDS)
            run.clock.on_idle()
            run.catch_up(batch_rows, allow_data_loss)
            if run.clock.batches % COMPACT_EVERY == 0:
                run.compacted += compact(spark, table)
    except KeyboardInterrupt:
        if not follow:
            raise
    run.compacted += compact(spark, table)
    oldest = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=forget_hours)
    return run.report(table.forget(oldest))


def _created(
    to: str | Path, format: Format, kafka: Kafka, view: TopicBounds, decode: Decode, schema_file: str | Path | None
) -> Table:
    sample = first_values(kafka, view)
    how = chosen(decode, schema_file, sample)
    table = create_table(to, format, TableSource(view.cluster_id, view.topic, view.topic_id), how)
    # Most fields are in the first records; without them the whole first batch would be read to find them, and again.
    table.grow(first_columns(how, sample))
    return table
