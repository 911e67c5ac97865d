"""What a task meets while it reads: its leader dies, retention overtakes it, Spark runs it again; and its memory."""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql.types import BinaryType, LongType, StructField, StructType
from test_source import produce

from headrace.base.ids import TopicPartition
from headrace.spark.source.columns import arrow_schema_of
from headrace.spark.source.lost_records import LostRecords
from headrace.spark.source.options import source_options
from headrace.spark.source.ranges import OffsetRange
from headrace.spark.source.read import read_range
from headrace.testing import Cluster

SCHEMA = arrow_schema_of(StructType([StructField("offset", LongType()), StructField("value", BinaryType())]))
COUNT, SIZE, FETCH = 3000, 1000, "100000"
SMALL_BATCHES = {"batch.size": 20_000, "linger.ms": 5}


def begin(bootstrap, topic, limit=COUNT, first=0, **options):
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "kafka.max.partition.fetch.bytes": FETCH}
    chosen = source_options({**given, **options}, is_streaming=False)
    return read_range(chosen, SCHEMA, OffsetRange(TopicPartition(topic, 0), first, limit))


def offsets(batches):
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_the_leader_dies_in_the_middle_of_a_read():
    with Cluster(3) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("orders", 1, 3)])["orders"].result(60)
        produce(cluster.bootstrap, "orders", [0], COUNT, SIZE, **SMALL_BATCHES, acks="all")
        reading = begin(cluster.bootstrap, "orders")
        read = offsets([next(reading)])
        assert len(read) < COUNT / 2
        leader = admin.list_topics("orders", timeout=30).topics["orders"].partitions[0].leader
        cluster.kill(leader)
        assert read + offsets(reading) == list(range(COUNT))
        assert offsets(begin(cluster.bootstrap, "orders")) == list(range(COUNT)), "a task that runs again"


@pytest.fixture
def shrinking(broker, new_topic):
    """A topic, and a way to delete its first records."""
    topic = new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0], COUNT, SIZE, **SMALL_BATCHES)

    def delete_before(offset):
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        (deleted,) = admin.delete_records([ConfluentPartition(topic, 0, offset)]).values()
        deleted.result(60)

    return topic, delete_before


def test_retention_overtakes_a_read(broker, shrinking):
    topic, delete_before = shrinking
    reading = begin(broker.bootstrap, topic)
    read = offsets([next(reading)])
    delete_before(2500)
    with pytest.raises(LostRecords) as lost:
        # What was fetched ahead is still good.
        for batch in reading:
            read += offsets([batch])
    assert read == list(range(len(read)))
    assert (lost.value.first, lost.value.limit) == (len(read), 2500)
    assert f"offsets {len(read)} to 2499 cannot be read any more" in str(lost.value)


def test_retention_overtakes_a_read_that_may_lose(broker, shrinking):
    topic, delete_before = shrinking
    reading = begin(broker.bootstrap, topic, failOnDataLoss="false")
    read = offsets([next(reading)])
    delete_before(2500)
    read += offsets(reading)
    missing = set(range(COUNT)) - set(read)
    assert missing and max(missing) == 2499 and sorted(read) == read
    assert missing == set(range(min(missing), 2500))


def test_a_range_is_read_to_its_limit_and_no_further(broker, shrinking):
    topic, _ = shrinking
    assert offsets(begin(broker.bootstrap, topic, first=17, limit=1203)) == list(range(17, 1203))


READ_ALL = """
import resource, sys
from test_source_read import begin
rows = sum(batch.num_rows for batch in begin(sys.argv[1], sys.argv[2], limit=int(sys.argv[3]), **{
    "kafka.max.partition.fetch.bytes": str(4 << 20)}))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak_mb(bootstrap, topic, count):
    """Of a process that reads that many rows of a topic and keeps none."""
    command = [sys.executable, "-c", READ_ALL, bootstrap, topic, str(count)]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    rows, peak = map(int, done.stdout.split())
    assert rows == count
    return peak


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_memory_of_a_task_does_not_grow_with_its_partition(broker, new_topic):
    topic, size, count = new_topic(retention_ms="-1"), 100_000, 21_000
    produce(broker.bootstrap, topic, [0], count, size, **{"message.max.bytes": 1_000_000})
    small, large = peak_mb(broker.bootstrap, topic, 1_000), peak_mb(broker.bootstrap, topic, count)
    assert large < small + 50, f"{small} MB for 100 MB, {large} MB for 2 GB"
