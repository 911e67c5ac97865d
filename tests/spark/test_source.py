"""Batch reads of topics: the rows, the ranges, the options, and what is said when something is wrong."""

import json
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient

START_MS = 1_700_000_000_000
COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


def produce(bootstrap, topic, partitions=(0,), count=10, size=0, **settings):
    """`count` records to each of these partitions, a second apart."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
    for partition in partitions:
        for i in range(count):
            value = f"{partition}-{i}".encode().ljust(size, b".")
            headers = [("n", str(i).encode())] if i % 2 else None
            key = f"k{i}".encode() if i % 3 else None
            while True:
                try:
                    producer.produce(topic, value, key, partition, timestamp=START_MS + 1000 * i, headers=headers)
                    break
                except BufferError:
                    producer.poll(1)
    assert producer.flush(60) == 0


@pytest.fixture
def read(spark, broker):
    def of(topic, **options):
        named = {name.replace("__", "."): value for name, value in options.items()}
        reader = spark.read.format("headrace").option("kafka.bootstrap.servers", broker.bootstrap)
        return reader.options(**named).option("subscribe", topic)

    return of


def failure(act) -> str:
    with pytest.raises(Exception) as caught:
        act()
    return str(caught.value)


def test_rows_are_what_was_sent_in_the_columns_of_the_connector(broker, new_topic, read):
    topic = new_topic(partitions=2, retention_ms="-1")
    produce(broker.bootstrap, topic, [0, 1], 50, **{"compression.type": "lz4"})
    frame = read(topic, includeHeaders="true").load()
    assert frame.columns == [*COLUMNS, "headers"]
    rows = sorted(frame.collect(), key=lambda row: (row.partition, row.offset))
    assert [(row.partition, row.offset) for row in rows] == [(p, i) for p in (0, 1) for i in range(50)]
    for row in rows:
        i = row.offset
        assert bytes(row.value) == f"{row.partition}-{i}".encode()
        assert row.key is None if i % 3 == 0 else bytes(row.key) == f"k{i}".encode()
        assert row.topic == topic and row.timestampType == 0
        assert row.timestamp.timestamp() * 1000 == START_MS + 1000 * i
        headers = None if row.headers is None else [(each.key, bytes(each.value)) for each in row.headers]
        assert headers == ([("n", str(i).encode())] if i % 2 else None)


def test_ranges_by_offsets_and_by_time(broker, new_topic, read):
    topic = new_topic(partitions=2, retention_ms="-1")
    produce(broker.bootstrap, topic, [0, 1], 20)

    def offsets(**options):
        rows = read(topic, **options).schema("partition int, offset bigint").load().collect()
        return sorted((row.partition, row.offset) for row in rows)

    every = [(p, i) for p in (0, 1) for i in range(20)]
    starts, ends = json.dumps({topic: {"0": 5, "1": -1}}), json.dumps({topic: {"0": 7, "1": -1}})
    assert offsets(startingOffsets=starts, endingOffsets=ends) == [(0, 5), (0, 6)]
    assert offsets(startingTimestamp=str(START_MS + 18_000)) == [(p, i) for p, i in every if i >= 18]
    assert offsets(endingTimestamp=str(START_MS + 2_500)) == [(p, i) for p, i in every if i < 3]
    times = json.dumps({topic: {"0": START_MS + 19_000, "1": START_MS + 10**9}})
    assert offsets(startingOffsetsByTimestamp=times, startingOffsetsByTimestampStrategy="latest") == [(0, 19)]
    assert "no record at or after" in failure(lambda: offsets(startingOffsetsByTimestamp=times))
    assert offsets(minPartitions="7") == offsets(maxRecordsPerPartition="3") == every


def test_partitions_are_split_over_tasks(broker, new_topic, read):
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 20)
    assert read(topic, minPartitions="4").load().rdd.getNumPartitions() == 4
    assert read(topic, maxRecordsPerPartition="3").load().rdd.getNumPartitions() == 7


def test_topics_by_pattern_and_partitions_by_name(spark, broker, new_topic):
    topic = new_topic(partitions=3, retention_ms="-1")
    produce(broker.bootstrap, topic, [0, 1, 2], 2)

    def partitions(**options):
        reader = spark.read.format("headrace").option("kafka.bootstrap.servers", broker.bootstrap)
        return {row.partition for row in reader.options(**options).load().collect()}

    assert partitions(subscribePattern=topic[:-1] + ".") == {0, 1, 2}
    assert partitions(subscribePattern="nothing-has-this-name") == set()
    assert partitions(assign=json.dumps({topic: [0, 2]})) == {0, 2}


def test_filters_narrow_what_is_read(broker, new_topic, read):
    topic = new_topic(partitions=3, retention_ms="-1")
    produce(broker.bootstrap, topic, [0, 1, 2], 20)
    frame = read(topic).load()
    one = frame.where("partition = 1 and offset >= 5 and offset < 8")
    assert one.rdd.getNumPartitions() == 1
    assert sorted(row.offset for row in one.collect()) == [5, 6, 7]
    assert frame.where("partition in (0, 2)").rdd.getNumPartitions() == 2
    since = datetime.fromtimestamp(START_MS / 1000 + 17.5, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    late = frame.where(f"timestamp >= timestamp'{since}+00:00'")
    assert sorted({row.offset for row in late.collect()}) == [18, 19]
    assert frame.where("partition = 9").count() == 0


def test_a_session_that_has_not_switched_filters_on(spark, broker, new_topic, read):
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 5)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        assert read(topic).load().where("offset > 2").count() == 2
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_only_the_columns_of_the_schema(broker, new_topic, read):
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 3)
    rows = read(topic).schema("value string, offset bigint").load().collect()
    assert [(row.offset, row.value) for row in rows] == [(i, f"0-{i}") for i in range(3)]
    assert "a topic has no column colour" in failure(lambda: read(topic).schema("colour string").load().collect())
    assert "column offset is not of type string" in failure(
        lambda: read(topic).schema("offset string").load().collect()
    )


def test_an_empty_topic_has_no_rows(new_topic, read):
    assert read(new_topic(partitions=2)).load().count() == 0


def test_records_that_retention_has_deleted(broker, new_topic, read):
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], 30)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    (deleted,) = admin.delete_records([ConfluentPartition(topic, 0, 12)]).values()
    deleted.result(60)
    starts = json.dumps({topic: {"0": 4}})
    lost = failure(lambda: read(topic, startingOffsets=starts).load().count())
    assert f"{topic}-0: offsets 4 to 11 cannot be read any more: the partition begins at 12" in lost
    assert "failOnDataLoss=false" in lost
    assert read(topic, startingOffsets=starts, failOnDataLoss="false").load().count() == 18
    beyond = json.dumps({topic: {"0": 99}})
    assert "the partition ends at 30" in failure(lambda: read(topic, startingOffsets=beyond).load().count())


def test_what_is_wrong_is_said_in_words(spark, broker, new_topic, read):
    topic = new_topic()
    assert "topic no-such-topic does not exist" in failure(lambda: read("no-such-topic").load().count())
    assert "did you mean startingOffsets?" in failure(lambda: read(topic, startingOffset="earliest").load())
    assert "no option colour" in failure(lambda: read(topic, colour="red").load())
    assert "use startingOffsets" in failure(lambda: read(topic, kafka__auto__offset__reset="earliest").load())
    assert "is not JSON" in failure(lambda: read(topic, startingOffsets="yesterday").load())
    assert "does not name" in failure(lambda: read(topic, startingOffsets='{"other":{"0":1}}').load().count())
    assert "exclude each other" in failure(lambda: read(topic, subscribePattern="x").load())
    nowhere = spark.read.format("headrace").option("subscribe", topic)
    assert "kafka.bootstrap.servers is missing" in failure(lambda: nowhere.load())
    refused = failure(lambda: nowhere.option("kafka.bootstrap.servers", "127.0.0.1:1").load().count())
    assert "no broker answers at 127.0.0.1:1" in refused
