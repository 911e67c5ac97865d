"""The offsets between which a batch read is planned, asked of a real broker."""

from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer
from pyspark.sql.datasource import GreaterThanOrEqual
from pyspark.sql.types import LongType, StructField, StructType
from test_source import produce

from headrace.client.cluster_client import ClusterClient
from headrace.spark.source.batch import FilteringBatchSource

SCHEMA = StructType([StructField("offset", LongType())])
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def planned(broker, topic, filters=(), **options):
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **options}
    source = FilteringBatchSource(given, SCHEMA)
    list(source.pushFilters(list(filters)))
    return [(each.first, each.limit) for partition in source.partitions() for each in partition.ranges]


@pytest.fixture
def asked(monkeypatch):
    """The timestamps of each ListOffsets question, which still goes to the broker."""
    kinds = []
    offsets = ClusterClient.offsets

    def noted(client, at, **how):
        kinds.append(set(at.values()))
        return offsets(client, at, **how)

    monkeypatch.setattr(ClusterClient, "offsets", noted)
    return kinds


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({}, [{-2}, {-1}]),
        ({"startingTimestamp": "1000", "endingTimestamp": "4102444800000"}, [{1000}, {4102444800000}, {-1}, {-2}]),
        ({"startingOffsets": "latest"}, [{-1}, {-2}]),
    ],
)
def test_a_plan_asks_once_for_each_kind_of_offset(broker, new_topic, asked, options, kinds):
    topic = new_topic()
    produce(broker.bootstrap, topic, [0], 20, 10)
    expected = [] if "startingOffsets" in options else [(0, 20)]
    assert planned(broker, topic, **options) == expected
    assert asked == kinds


def test_a_filter_on_time_finds_records_of_a_transaction_that_is_open(broker, new_topic):
    topic = new_topic()
    writer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    writer.init_transactions(30)
    writer.begin_transaction()
    writer.produce(topic, b"v", partition=0)
    writer.flush(30)
    since = [GreaterThanOrEqual(("timestamp",), LONG_AGO)]
    assert planned(broker, topic, since, **{"kafka.isolation.level": "read_uncommitted"}) == [(0, 1)]
    assert planned(broker, topic, since) == []
    writer.abort_transaction(30)
