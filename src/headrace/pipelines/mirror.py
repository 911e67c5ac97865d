"""Topics of one cluster into another: same partitions, keys, headers and times; each record once; offsets mapped.

The target holds all there is to know (`copying`): how far each partition is, and in the topic `headrace.mirror.offsets`
which offset became which. A mirror that was stopped goes on; a group that moves over finds its place (`groups`).
The mirror must be the only writer of the topics it writes.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import LATEST, ClusterClient
from headrace.client.transaction import BatchTransaction
from headrace.pipelines.copying import RECORD, known_positions, send, sink_of, write_once
from headrace.pipelines.kafka import Kafka, TopicBounds, look_at
from headrace.pipelines.lag_group import show_progress
from headrace.pipelines.mirrored_groups import NOTES, carry_over
from headrace.pipelines.offset_runs import OffsetRuns
from headrace.pipelines.progress import Listener, ProgressClock, ignore
from headrace.pipelines.ranges import Offsets, end_of, lag_of, plan_batch
from headrace.pipelines.records import read_records
from headrace.pipelines.resume import resume
from headrace.pipelines.spark_tasks import run_tasks
from headrace.pipelines.target_topics import configs_of, ensure_topic
from headrace.spark.clients import client_of
from headrace.spark.loop_thread import loop_thread
from headrace.spark.sink.options import SinkOptions
from headrace.spark.sink.task import Written
from headrace.spark.source.ranges import OffsetRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIRROR_BATCH_ROWS = 500_000
FOLLOW_SECONDS = 2.0
_NOTE = pa.schema([("key", pa.string()), ("value", pa.string())])


class MirrorReport(NamedTuple):
    topics: list[str]
    rows: int
    bytes: int
    lost: int
    groups: int
    batches: int
    seconds: float
    rows_per_second: float


class MirrorWork(NamedTuple):
    """The same for every task."""

    source: Kafka
    target: Kafka
    cluster_id: str
    """The source's cluster id."""
    target_cluster_id: str
    prefix: str

    def target_of(self, id: TopicPartition) -> TopicPartition:
        return TopicPartition(self.prefix + id.topic, id.partition)

    def name_of(self, id: TopicPartition) -> str:
        return f"headrace-mirror-{self.cluster_id}-{self.target_of(id)}"

    def about(self, id: TopicPartition) -> dict[str, str]:
        return {"cluster": self.cluster_id, "topic": id.topic, "partition": str(id.partition), "prefix": self.prefix}


class Mirror:
    def __init__(self, spark: "SparkSession", work: MirrorWork, topics: Sequence[str], clock: ProgressClock) -> None:
        self.spark, self.work, self.topics, self.clock = spark, work, topics, clock
        self.bytes = self.lost = 0

    def catch_up(self, batch_rows: int, allow_loss: bool) -> None:
        for topic in self.topics:
            view = look_at(self.work.source, topic)
            start, lost = resume(view, self._positions(view), allow_loss)
            self.lost += lost
            while ranges := plan_batch(topic, start, view.end, batch_rows):
                copied = run_tasks(self.spark, partial(_copy, self.work), ranges)
                start = end_of(start, ranges)
                show_progress(self.work.source, f"headrace-mirror-{self.work.target_cluster_id}", topic, start)
                self.bytes += sum(each.bytes for each in copied)
                self.clock.on_batch(sum(each.rows for each in copied), lag_of(start, view.end))

    def _positions(self, view: TopicBounds) -> Offsets:
        sink = sink_of(self.work.target, self.work.prefix + view.topic)
        names = {p: self.work.name_of(TopicPartition(view.topic, p)) for p in view.end}
        return known_positions(sink, names)


def mirror(
    source: str,
    target: str,
    topics: Sequence[str],
    *,
    source_options: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    prefix: str = "",
    groups: Iterable[str] = (),
    follow: bool = False,
    batch_rows: int = MIRROR_BATCH_ROWS,
    allow_data_loss: bool = False,
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
    on_progress: Listener = ignore,
) -> MirrorReport:
    """Brings `topics` of the cluster at `source` to the one at `target`; with `follow`, until it is interrupted.

    Topics are made with the source's partitions and settings. `groups` are given the offsets on the target that match
    theirs on the source.
    """
    here, there = Kafka(source, source_options or {}), Kafka(target, target_options or {})
    cluster_id, target_cluster_id = _prepared(here, there, topics, prefix)
    if spark is None:
        from headrace.spark import session

        spark = session(master, name="headrace mirror")
    work = MirrorWork(here, there, cluster_id, target_cluster_id, prefix)
    run = Mirror(spark, work, topics, ProgressClock("mirror", on_progress))
    carried = 0
    try:
        while True:
            run.catch_up(batch_rows, allow_data_loss)
            carried = carry_over(here, there, cluster_id, topics, prefix, list(groups))
            if not follow:
                break
            time.sleep(FOLLOW_SECONDS)
            run.clock.on_idle()
    except KeyboardInterrupt:
        if not follow:
            raise
    clock = run.clock
    seconds, rate = round(clock.seconds, 3), round(clock.rows_per_second)
    return MirrorReport(list(topics), clock.rows, run.bytes, run.lost, carried, clock.batches, seconds, rate)


def _prepared(source: Kafka, target: Kafka, topics: Sequence[str], prefix: str) -> tuple[str, str]:
    """Makes the topics; the ids of both clusters."""
    ensure_topic(target, NOTES, 1, {"cleanup.policy": "compact"})
    target_cluster = look_at(target, NOTES).cluster_id
    cluster_id = ""
    for topic in topics:
        view = look_at(source, topic)
        cluster_id = view.cluster_id
        if cluster_id == target_cluster and not prefix:
            raise UserError("source and target are the same cluster", "name another, or give the copies a --prefix")
        ensure_topic(target, prefix + topic, len(view.start), configs_of(source, topic))
    return cluster_id, target_cluster


def _copy(work: MirrorWork, range: OffsetRange) -> Written:
    there = work.target_of(range.id)
    options = sink_of(work.target, there.topic)

    def write(transaction: BatchTransaction, position: int) -> Written:
        runs = OffsetRuns(_end(options, there))
        rows = read_records(work.source, range._replace(first=max(range.first, position)))
        written = send(options, transaction, RECORD, runs.noted(rows))
        if _end(options, there) != runs.target_end:
            # Where rows lie follows from where the partition ended, unless somebody else wrote to it meanwhile.
            raise UserError(
                f"somebody else writes to {there} of the target, so it cannot be said which offset became which",
                "let the mirror be the only writer of its topics",
            )
        if written.rows:
            notes = pa.RecordBatch.from_pydict(runs.notes(work.about(range.id)), schema=_NOTE)
            send(sink_of(work.target, NOTES)._replace(include_timestamp=False), transaction, _NOTE, [notes])
        return written

    return write_once(options, work.name_of(range.id), range.limit, write)


def _end(options: SinkOptions, id: TopicPartition) -> int:
    found = loop_thread().run(client_of(options, ClusterClient).offsets({id: LATEST}, read_committed=False))
    return found[id].offset
