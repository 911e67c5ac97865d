"""Spark writes, a plain Kafka consumer reads: batch and stream, on a real broker."""

import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from eventually import collected
from headrace.testing import Broker

READ_SECONDS = 60.0
QUERY_SECONDS = 100


def read_all(bootstrap: str, topic: str, partitions: int = 1) -> list:
    """Every committed message there is at this moment."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        return _until_ends(consumer, partitions)
    finally:
        consumer.close()


def _until_ends(consumer: Consumer, partitions: int) -> list:
    def ends(found: list) -> set[int]:
        return {each.partition() for each in found if each.error() is not None}

    found = collected(lambda: consumer.consume(500, 1.0), lambda found: len(ends(found)) == partitions, READ_SECONDS)
    return [each for each in found if each.error() is None]


def write(frame: DataFrame, broker: Broker, **options: object) -> None:
    writing = frame.write.format("headrace").mode("append").option("kafka.bootstrap.servers", broker.bootstrap)
    for name, value in options.items():
        writing = writing.option(name.replace("__", "."), str(value))
    writing.save()


def test_a_batch_write_is_read_back_whole(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> None:
    topic = new_topic(3)
    frame = spark.range(5000, numPartitions=4).selectExpr(
        "cast(id % 100 as string) as key", "case when id % 7 = 0 then null else concat('v', id) end as value"
    )
    write(frame, broker, topic=topic)
    messages = read_all(broker.bootstrap, topic, 3)
    expected = Counter((str(n % 100).encode(), None if n % 7 == 0 else f"v{n}".encode()) for n in range(5000))
    assert Counter((m.key(), m.value()) for m in messages) == expected
    homes = {(m.key(), m.partition()) for m in messages}
    assert len(homes) == 100, "a key has one partition"


def test_topic_partition_headers_and_time_are_the_columns(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    one, two = new_topic(2), new_topic(2)
    frame = spark.sql(
        f"""select if(id < 5, '{one}', '{two}') as topic, cast(string(id) as binary) as value, int(id % 2) as partition,
            array(named_struct('key', 'n', 'value', cast(string(id) as binary))) as headers,
            timestamp_millis(1700000000000 + id) as timestamp, 'ignored' as other
            from range(10)"""
    )
    write(frame, broker, includeTimestamp=True)
    for topic, numbers in ((one, range(5)), (two, range(5, 10))):
        messages = {int(m.value()): m for m in read_all(broker.bootstrap, topic, 2)}
        assert sorted(messages) == list(numbers)
        for number, message in messages.items():
            assert message.partition() == number % 2
            assert message.headers() == [("n", str(number).encode())]
            assert message.timestamp()[1] == 1_700_000_000_000 + number


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_rows_are_read_by_any_client(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], codec: str
) -> None:
    topic = new_topic()
    frame = spark.range(1000, numPartitions=1).selectExpr("repeat(cast(id as string), 50) as value")
    write(frame, broker, topic=topic, kafka__compression__type=codec)
    values = [m.value().decode() for m in read_all(broker.bootstrap, topic)]
    assert values == [str(number) * 50 for number in range(1000)]


def test_acks_of_one_leader_are_enough_when_asked(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    write(spark.range(100).selectExpr("string(id) as value"), broker, topic=topic, kafka__acks=1)
    assert len(read_all(broker.bootstrap, topic)) == 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": "x"}, "the sink has no option topics"),
        ({"topic": "x", "kafka.compresion.type": "lz4"}, "did you mean kafka.compression.type?"),
        ({"topic": "x", "kafka.compression.type": "rar"}, "kafka.compression.type=rar does not exist"),
        ({"topic": "x", "guarantee": "exactly-once"}, "exactly-once is for streams"),
        ({}, "does not know where to write"),
    ],
)
def test_wrong_options_are_explained_before_anything_runs(
    spark: SparkSession, broker: Broker, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=message.replace("?", r"\?")):
        write(spark.range(1).selectExpr("string(id) as value"), broker, **options)


def test_a_missing_topic_is_named(spark: SparkSession) -> None:
    with Broker({"auto.create.topics.enable": False}) as closed, pytest.raises(PySparkException) as raised:
        write(spark.range(1).selectExpr("string(id) as value"), closed, topic="nowhere")
    assert "topic nowhere does not exist" in str(raised.value)
    assert "headrace topic create nowhere" in str(raised.value)


def test_an_address_without_broker_is_named(spark: SparkSession, broker: Broker) -> None:
    frame = spark.range(1).selectExpr("string(id) as value")
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "x", "kafka.max.block.ms": "500"}
    with pytest.raises(PySparkException, match=r"no broker answers at 127\.0\.0\.1:1"):
        frame.write.format("headrace").mode("append").options(**options).save()


def a_stream(spark: SparkSession, source: Path) -> DataFrame:
    """Files in a directory, one line a row: a source that needs no broker."""
    return spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(source))


def put_lines(source: Path, number: int, lines: list[str]) -> None:
    partial = source / f".{number}"
    partial.write_text("\n".join(lines))
    partial.rename(source / f"{number:05}.txt")


def run_to_end(frame: DataFrame, broker: Broker, checkpoint: Path, **options: str) -> None:
    writing = frame.writeStream.format("headrace").option("kafka.bootstrap.servers", broker.bootstrap)
    query = writing.options(**options).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(QUERY_SECONDS), "the query has not ended"


def test_a_stream_is_written_once_and_goes_on_where_it_was(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, source = new_topic(2), tmp_path / "in"
    source.mkdir()
    for number in range(3):
        put_lines(source, number, [f"{number}-{line}" for line in range(200)])
    run_to_end(a_stream(spark, source), broker, tmp_path / "checkpoint", topic=topic)
    put_lines(source, 3, [f"3-{line}" for line in range(200)])
    run_to_end(a_stream(spark, source), broker, tmp_path / "checkpoint", topic=topic)
    values = sorted(m.value().decode() for m in read_all(broker.bootstrap, topic, 2))
    assert values == sorted(f"{number}-{line}" for number in range(4) for line in range(200))


def test_a_batch_that_spark_repeats_is_not_written_again(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, source, checkpoint = new_topic(2), tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    for number in range(2):
        put_lines(source, number, [f"{number}-{line}" for line in range(50)])
    run_to_end(a_stream(spark, source), broker, checkpoint, topic=topic)
    # As a crash between the sink's commit and Spark's own note of it leaves the checkpoint.
    for path in (checkpoint / "commits").glob("*1*"):
        path.unlink()
    run_to_end(a_stream(spark, source), broker, checkpoint, topic=topic)
    values = sorted(m.value().decode() for m in read_all(broker.bootstrap, topic, 2))
    assert values == sorted(f"{number}-{line}" for number in range(2) for line in range(50))


def test_at_least_once_repeats_what_spark_repeats(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, source, checkpoint = new_topic(), tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    put_lines(source, 0, ["only"])
    run_to_end(a_stream(spark, source), broker, checkpoint, topic=topic, guarantee="at-least-once")
    for path in (checkpoint / "commits").glob("*0*"):
        path.unlink()
    run_to_end(a_stream(spark, source), broker, checkpoint, topic=topic, guarantee="at-least-once")
    assert [m.value() for m in read_all(broker.bootstrap, topic)] == [b"only", b"only"]
