"""A topic sorted: what its schema allows goes to one topic, enriched from a table; the rest with its reason to another.

A good record keeps key, headers and time. A bad one is kept as it was, and its headers say why and where it came from. Both
go out in the transaction that stores how far the topic is read (`copying`): each record is in one of the two, once.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from headrace.base.dead_letters import CLEAN_REASON, Origin, dead_letter_headers, former_headers
from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.client.transaction import BatchTransaction
from headrace.pipelines.checks import Schema, check_of, read_schema
from headrace.pipelines.columns import HEADERS
from headrace.pipelines.copying import known_positions, send, sink_of, write_once
from headrace.pipelines.kafka import DEFAULT_BOOTSTRAP, Kafka, look_at
from headrace.pipelines.lag_group import show_progress
from headrace.pipelines.progress import Listener, ProgressClock, ignore
from headrace.pipelines.ranges import end_of, lag_of, plan_batch
from headrace.pipelines.records import read_records
from headrace.pipelines.resume import resume
from headrace.pipelines.spark_tasks import run_tasks
from headrace.pipelines.target_topics import ensure_topic
from headrace.spark.sink.task import Written
from headrace.spark.source.ranges import OffsetRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLEAN_BATCH_ROWS = 200_000
FOLLOW_SECONDS = 2.0
TABLE_ROWS_MAX = 1_000_000
REASONS_MAX = 10
SORTED = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
        pa.field("topic", pa.string()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
Kind = Literal["json", "avro", "avro-framed"]
Table = dict[str, dict[str, Any]]


class CleanedTopic(NamedTuple):
    topic: str
    good_topic: str
    bad_topic: str
    rows: int
    good: int
    bad: int
    lost: int
    batches: int
    seconds: float
    rows_per_second: float
    reasons: dict[str, int]
    """The most frequent ones."""


class CleanWork(NamedTuple):
    """The same for every task."""

    kafka: Kafka
    good_topic: str
    bad_topic: str
    schema: Schema
    on: str
    table: Table | None
    """Rows to join, by the text of their key."""

    def name_of(self, id: TopicPartition) -> str:
        return f"headrace-clean-{id.topic}-{self.good_topic}-{id.partition}"


class Sorted(NamedTuple):
    good: int
    bad: int
    reasons: dict[str, int]


def clean(
    topic: str,
    schema: str | Path,
    *,
    schema_kind: Kind = "json",
    good: str | None = None,
    bad: str | None = None,
    join: str | Path | None = None,
    on: str = "",
    bootstrap: str = DEFAULT_BOOTSTRAP,
    options: Mapping[str, str] | None = None,
    follow: bool = False,
    batch_rows: int = CLEAN_BATCH_ROWS,
    allow_data_loss: bool = False,
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
    on_progress: Listener = ignore,
) -> CleanedTopic:
    """Sorts `topic` into `good` (TOPIC.clean) and `bad` (TOPIC.dead); with `follow`, until it is interrupted.

    `join` is a table (.parquet, .csv or .json) whose column `on` is looked up by the value's field of that name; the other
    columns of the row become fields of the value.
    """
    if bool(join) != bool(on):
        raise UserError(
            "a table to join and the field to join it on belong together", "give --join FILE and --on FIELD"
        )
    if join and schema_kind != "json":
        raise UserError("only JSON values can be enriched", "leave out --join, or clean a topic of JSON")
    kafka = Kafka(bootstrap, options or {})
    rules = read_schema(schema, schema_kind)
    view = look_at(kafka, topic)
    good_topic, bad_topic = good or f"{topic}.clean", bad or f"{topic}.dead"
    if topic in (good_topic, bad_topic):
        raise UserError(f"{topic} cannot be sorted into itself", "name other topics with --good and --bad")
    for each in (good_topic, bad_topic):
        # Keys choose partitions here, so one that is there may have any number of them.
        ensure_topic(kafka, each, len(view.end), at_least=1)
    if spark is None:
        from headrace.spark import session

        spark = session(master, name=f"headrace clean {topic}")
    table = read_table(spark, join, on) if join else None
    work = CleanWork(kafka, good_topic, bad_topic, rules, on, table)
    run = _Run(spark, work, topic, ProgressClock("clean", on_progress))
    try:
        run.catch_up(batch_rows, allow_data_loss)
        while follow:
            time.sleep(FOLLOW_SECONDS)
            run.clock.on_idle()
            run.catch_up(batch_rows, allow_data_loss)
    except KeyboardInterrupt:
        if not follow:
            raise
    return run.report()


class _Run:
    def __init__(self, spark: "SparkSession", work: CleanWork, topic: str, clock: ProgressClock) -> None:
        self.spark, self.work, self.topic, self.clock = spark, work, topic, clock
        self.good = self.bad = self.lost = 0
        self.reasons: Counter[str] = Counter()

    def catch_up(self, batch_rows: int, allow_loss: bool) -> None:
        view = look_at(self.work.kafka, self.topic)
        names = {p: self.work.name_of(TopicPartition(self.topic, p)) for p in view.end}
        start, lost = resume(view, known_positions(sink_of(self.work.kafka), names), allow_loss)
        self.lost += lost
        while ranges := plan_batch(self.topic, start, view.end, batch_rows):
            outcomes = run_tasks(self.spark, partial(_sort_range, self.work), ranges)
            for outcome in outcomes:
                self.good += outcome.good
                self.bad += outcome.bad
                self.reasons.update(outcome.reasons)
            start = end_of(start, ranges)
            show_progress(self.work.kafka, f"headrace-clean-{self.topic}", self.topic, start)
            self.clock.on_batch(sum(each.good + each.bad for each in outcomes), lag_of(start, view.end))

    def report(self) -> CleanedTopic:
        clock = self.clock
        return CleanedTopic(
            self.topic,
            self.work.good_topic,
            self.work.bad_topic,
            clock.rows,
            self.good,
            self.bad,
            self.lost,
            clock.batches,
            round(clock.seconds, 3),
            round(clock.rows_per_second),
            dict(self.reasons.most_common(REASONS_MAX)),
        )


def read_table(spark: "SparkSession", path: str | Path, on: str) -> Table:
    """A table that Spark reads, from wherever Spark can; small enough to be sent to every task."""
    kind = Path(path).suffix.removeprefix(".") or "parquet"
    reader = spark.read.option("header", "true").option("inferSchema", "true")
    frame = reader.format({"jsonl": "json", "ndjson": "json"}.get(kind, kind)).load(str(path))
    if on not in frame.columns:
        raise UserError(f"{path} has no column {on}", f"--on is one of {', '.join(frame.columns)}")
    rows = frame.limit(TABLE_ROWS_MAX + 1).collect()
    if len(rows) > TABLE_ROWS_MAX:
        raise UserError(f"{path} has more than {TABLE_ROWS_MAX:,} rows", "join a smaller table")
    return {_text(row[on]): {n: v for n, v in row.asDict(True).items() if n != on} for row in rows}


def _sort_range(work: CleanWork, range: OffsetRange) -> Sorted:
    sink, reasons = sink_of(work.kafka), Counter[str]()

    def write(transaction: BatchTransaction, position: int) -> Written:
        reasons.clear()
        records = read_records(work.kafka, range._replace(first=max(range.first, position)))
        return send(sink, transaction, SORTED, sort_rows(work, records, reasons))

    written = write_once(sink, work.name_of(range.id), range.limit, write)
    bad = reasons.total() if written.rows else 0
    return Sorted(written.rows - bad, bad, dict(reasons) if written.rows else {})


def sort_rows(work: CleanWork, batches: Iterable[pa.RecordBatch], reasons: Counter[str]) -> Iterator[pa.RecordBatch]:
    check = check_of(work.schema)
    for batch in batches:
        rows = []
        for record in batch.to_pylist():
            verdict = check(record["value"])
            if verdict.reason is None:
                rows.append(_good(work, record, verdict.value))
            else:
                reasons[verdict.reason] += 1
                rows.append(_bad(work, record, verdict.reason))
        yield pa.RecordBatch.from_pylist(rows, schema=SORTED)


def _good(work: CleanWork, record: dict[str, Any], value: dict[str, Any] | None) -> dict[str, Any]:
    row = {name: record[name] for name in ("key", "value", "headers", "timestamp")} | {"topic": work.good_topic}
    found = work.table.get(_text(value.get(work.on))) if work.table is not None and value is not None else None
    if found is not None and value is not None:
        # What the record says itself counts more than the table.
        row["value"] = json.dumps({**found, **value}, ensure_ascii=False, default=str).encode()
    return row


def _bad(work: CleanWork, record: dict[str, Any], reason: str) -> dict[str, Any]:
    timestamp = round(record["timestamp"].timestamp() * 1000)
    origin = Origin(record["topic"], record["partition"], record["kafka_offset"], timestamp)
    told = [*dead_letter_headers(origin, reason), *former_headers(origin, reason, CLEAN_REASON)]
    said = [{"key": name, "value": text} for name, text in told]
    row = {name: record[name] for name in ("key", "value", "timestamp")}
    return row | {"topic": work.bad_topic, "headers": (record["headers"] or []) + said}


def _text(value: Any) -> str:
    """A key of JSON and one of a table are the same if they read the same: 7, 7.0 and "7"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)
