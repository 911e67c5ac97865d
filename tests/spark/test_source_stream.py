"""Streaming reads: every record once over stops and restarts, limits, progress, and what a checkpoint may not be."""

import json

import pytest
from test_source import failure, produce

from eventually import until
from headrace.admin.lag import get_lag
from headrace.spark.source.stream import FEW_RECORDS, StreamSource
from headrace.testing import Broker

DEADLINE_SECONDS = 90

pytestmark = pytest.mark.timeout(300)


class Query:
    """A stream into a list of (partition, offset): what each micro-batch brought."""

    def __init__(self, spark, bootstrap, topic, checkpoint):
        self.batches = []
        self._spark, self._bootstrap, self._topic, self._checkpoint = spark, bootstrap, topic, checkpoint

    def start(self, available_now=True, **options):
        named = {name.replace("__", "."): value for name, value in options.items()}
        reader = self._spark.readStream.format("headrace").option("kafka.bootstrap.servers", self._bootstrap)
        frame = reader.option("subscribe", self._topic).options(**named).schema("partition int, offset bigint").load()
        writer = frame.writeStream.option("checkpointLocation", str(self._checkpoint)).foreachBatch(self._take)
        return (writer.trigger(availableNow=True) if available_now else writer).start()

    def _take(self, frame, number):
        self.batches.append(sorted((row.partition, row.offset) for row in frame.collect()))

    def run(self, **options):
        """Reads what is there, and returns what it got."""
        self.batches = []
        query = self.start(**options)
        assert query.awaitTermination(DEADLINE_SECONDS)
        return query

    @property
    def rows(self):
        return sorted(row for batch in self.batches for row in batch)


def latest_of(running):
    """The ends of the partitions as the query's progress tells them."""
    progress = running.lastProgress
    told = progress and progress["sources"][0]["latestOffset"]
    return told and {topic: ends for topic, ends in json.loads(told).items() if ends}


@pytest.fixture
def query_of(spark, broker, tmp_path):
    return lambda topic: Query(spark, broker.bootstrap, topic, tmp_path / "checkpoint")


def every(count, partitions=(0, 1), first=0):
    return [(p, i) for p in partitions for i in range(first, count)]


def test_each_record_once_over_restarts(broker, new_topic, query_of):
    topic = new_topic(partitions=2, retention_ms="-1")
    produce(broker.bootstrap, topic, [0, 1], 30)
    query = query_of(topic)
    query.run(startingOffsets="earliest")
    assert query.rows == every(30)
    query.run(startingOffsets="earliest")
    assert query.rows == []
    produce(broker.bootstrap, topic, [0, 1], 5)
    query.run(startingOffsets="earliest")
    assert query.rows == every(35, first=30)


def test_a_limit_is_shared_by_backlog_and_starves_nobody(broker, new_topic, query_of):
    topic = new_topic(partitions=2, retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 90)
    produce(broker.bootstrap, topic, [1], 10)
    query = query_of(topic)
    query.run(startingOffsets="earliest", maxOffsetsPerTrigger="50")
    assert query.rows == [*every(90, [0]), *every(10, [1])]
    assert [len(batch) for batch in query.batches] == [50, 50]
    assert {p for p, _ in query.batches[0]} == {0, 1}


@pytest.mark.long
def test_bytes_limit_a_batch_too(broker, new_topic, query_of):
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 100, size=1000)
    query = query_of(topic)
    query.run(startingOffsets="earliest", maxBytesPerTrigger="30000")
    assert query.rows == every(100, [0])
    assert all(20 <= len(batch) <= 32 for batch in query.batches[:-1])


def test_a_running_query_sees_what_comes_and_a_new_partition(broker, new_topic, query_of):
    from confluent_kafka.admin import AdminClient, NewPartitions

    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 3)
    query = query_of(topic)
    running = query.start(available_now=False, startingOffsets="latest")
    try:
        until(lambda: latest_of(running) is not None)
        produce(broker.bootstrap, topic, [0], 4)
        until(lambda: query.rows == every(7, [0], first=3))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(60)
        produce(broker.bootstrap, topic, [1], 6)
        until(lambda: query.rows == [*every(7, [0], first=3), *every(6, [1])])
        until(lambda: latest_of(running) == {topic: {"0": 7, "1": 6}})
    finally:
        running.stop()


@pytest.mark.long
def test_a_small_batch_waits_for_more(broker, new_topic, query_of):
    topic = new_topic(retention_ms="-1")
    query = query_of(topic)
    running = query.start(
        available_now=False, startingOffsets="earliest", minOffsetsPerTrigger="20", maxTriggerDelay="1h"
    )
    try:
        # The first batch of a query waits for nothing, as in the connector.
        produce(broker.bootstrap, topic, [0], 1)
        until(lambda: len(query.rows) == 1)
        produce(broker.bootstrap, topic, [0], 10)
        until(lambda: latest_of(running) == {topic: {"0": 11}})
        produce(broker.bootstrap, topic, [0], 10)
        until(lambda: len(query.rows) == 21)
        assert len([batch for batch in query.batches if batch]) == 2
    finally:
        running.stop()


def test_progress_is_the_lag_of_a_group(broker, new_topic, query_of, headrace_topic):
    topic, group = new_topic(retention_ms="-1"), headrace_topic
    produce(broker.bootstrap, topic, [0], 10)
    query = query_of(topic)
    running = query.start(available_now=False, startingOffsets="earliest", kafka__group__id=group)
    try:
        until(lambda: len(query.rows) == 10)
        produce(broker.bootstrap, topic, [0], 5)
        until(lambda: len(query.rows) == 15)
        until(lambda: [each.committed for each in get_lag(broker.bootstrap, group)] == [10])
        produce(broker.bootstrap, topic, [0], 1)
        until(lambda: [(each.committed, each.lag) for each in get_lag(broker.bootstrap, group)] == [(15, 1)])
    finally:
        running.stop()


def test_few_records_are_read_by_one_task_unless_more_are_asked_for(spark, broker, new_topic):
    topic = new_topic(partitions=3, retention_ms="-1")
    produce(broker.bootstrap, topic, [0, 1, 2], FEW_RECORDS // 3 + 1)
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
    schema = spark.createDataFrame([], "partition int, offset bigint").schema

    def tasks(count, **more):
        start, end = ({topic: dict.fromkeys("012", offset)} for offset in (0, count))
        planned = StreamSource(options | more, schema).partitions(start, end)
        assert sorted((each.id.partition, each.size) for task in planned for each in task.ranges) == [
            (partition, count) for partition in range(3)
        ]
        return len(planned)

    assert tasks(10) == 1
    assert tasks(10, minPartitions="3") == tasks(10, maxRecordsPerPartition="10") == 3
    assert tasks(FEW_RECORDS // 3 + 1) == 3


def test_where_a_query_begins_is_kept_until_it_has_moved(spark, broker, new_topic, headrace_topic):
    """Its first process dies before the first batch: the records since then are not skipped by the second."""
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 10)
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "kafka.group.id": headrace_topic}
    schema = spark.createDataFrame([], "offset bigint").schema

    first = StreamSource(options, schema).initialOffset()
    assert first[topic] == {"0": 10}
    produce(broker.bootstrap, topic, [0], 5)
    second = StreamSource(options, schema)
    assert second.initialOffset() == first
    second.commit({topic: {"0": 15}})
    assert StreamSource(options, schema).initialOffset()[topic] == {"0": 15}


@pytest.mark.long
def test_the_checkpoint_of_another_cluster(spark, broker, new_topic, query_of, tmp_path):
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 10)
    query_of(topic).run(startingOffsets="earliest")
    with Broker() as other:
        produce(other.bootstrap, topic, [0], 50)
        stranger = Query(spark, other.bootstrap, topic, tmp_path / "checkpoint")
        said = failure(lambda: stranger.run(startingOffsets="earliest"))
    assert "this checkpoint is of cluster" in said and "new checkpointLocation" in said


@pytest.mark.long
def test_a_topic_that_was_deleted(broker, new_topic, query_of):
    from confluent_kafka.admin import AdminClient

    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 10)
    query = query_of(topic)
    query.run(startingOffsets="earliest")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.delete_topics([topic])[topic].result(60)
    assert f"topic {topic} does not exist" in failure(lambda: query.run(startingOffsets="earliest"))


def test_a_stream_has_no_end(new_topic, query_of):
    said = failure(lambda: query_of(new_topic()).run(endingOffsets="latest"))
    assert "a stream has no end, so endingOffsets has no meaning" in said
