"""Table back to topic: every row of a lake table into the partition it came from, with key, headers and time, once.

The target keeps the account (`copying`): a replay that was stopped goes on, and one that is through writes nothing more. A
`name` of its own makes another replay of the same table into the same topic.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.client.transaction import BatchTransaction
from headrace.pipelines.copying import RECORD, known_positions, send, sink_of, write_once
from headrace.pipelines.kafka import DEFAULT_BOOTSTRAP, Kafka
from headrace.pipelines.progress import Listener, ProgressClock, ignore
from headrace.pipelines.ranges import end_of, lag_of, plan_batch
from headrace.pipelines.spark_tasks import run_tasks
from headrace.pipelines.table_rows import read_rows
from headrace.pipelines.tables.open import open_table
from headrace.pipelines.tables.table import TableFile
from headrace.pipelines.target_topics import ensure_topic
from headrace.spark.sink.task import Written
from headrace.spark.source.ranges import OffsetRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPLAY_BATCH_ROWS = 1_000_000


class ReplayReport(NamedTuple):
    table: str
    topic: str
    rows: int
    bytes: int
    batches: int
    seconds: float
    rows_per_second: float
    made_topic: bool


class ReplayWork(NamedTuple):
    """The same for every task."""

    target: Kafka
    topic: str
    name: str
    files: list[TableFile]

    def name_of(self, partition: int) -> str:
        return f"{self.name}-{partition}"


def replay(
    path: str | Path,
    to: str,
    *,
    bootstrap: str = DEFAULT_BOOTSTRAP,
    options: Mapping[str, str] | None = None,
    name: str = "replay",
    batch_rows: int = REPLAY_BATCH_ROWS,
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
    on_progress: Listener = ignore,
) -> ReplayReport:
    """Writes the table at `path` to the topic `to`, which is made if it is not there."""
    table = open_table(path)
    topic_id = table.source.topic_id
    end = table.offsets()
    target = Kafka(bootstrap, options or {})
    # Times are kept, so the broker's own retention might delete the oldest rows as they arrive.
    made = ensure_topic(target, to, max(end, default=0) + 1, {"retention.ms": "-1"})
    if spark is None:
        from headrace.spark import session

        spark = session(master, name=f"headrace replay {to}")
    work = ReplayWork(target, to, f"headrace-{name}-{topic_id}-{to}", table.files())
    clock, copied_bytes = ProgressClock("replay", on_progress), 0
    written = known_positions(sink_of(target, to), {partition: work.name_of(partition) for partition in end})
    start = dict.fromkeys(end, 0) | written
    while ranges := plan_batch(to, start, end, batch_rows):
        copied = run_tasks(spark, partial(_copy, work), ranges)
        start = end_of(start, ranges)
        copied_bytes += sum(each.bytes for each in copied)
        clock.on_batch(sum(each.rows for each in copied), lag_of(start, end))
    return ReplayReport(
        str(path),
        to,
        clock.rows,
        copied_bytes,
        clock.batches,
        round(clock.seconds, 3),
        round(clock.rows_per_second),
        made,
    )


def _copy(work: ReplayWork, range: OffsetRange) -> Written:
    options, partition = sink_of(work.target, work.topic), range.id.partition

    def write(transaction: BatchTransaction, position: int) -> Written:
        rows = read_rows(work.files, partition, max(range.first, position), range.limit)
        return send(options, transaction, RECORD, rows)

    return write_once(options, work.name_of(partition), range.limit, write)
