"""Mirror and replay between real brokers: the copy is the original, once, and offsets find their records."""

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pipeline_topics import ADMIN_SECONDS, records_of, send

from headrace.base.errors import UserError
from headrace.pipelines.kafka import Kafka, look_at
from headrace.pipelines.lake import lake
from headrace.pipelines.mirror import mirror
from headrace.pipelines.mirrored_groups import mirrored_runs, read_notes
from headrace.pipelines.offset_runs import target_offset
from headrace.pipelines.replay import replay
from headrace.testing import Broker


@pytest.fixture(scope="module")
def other():
    with Broker() as broker:
        yield broker


def contents(records):
    return [(partition, content) for partition, _, content in records]


def send_in_transactions(bootstrap, topic, transactions):
    """Markers and aborted records leave gaps in the source's offsets."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(60)
    for number in range(transactions):
        producer.begin_transaction()
        for each in range(5):
            producer.produce(topic, b"txn %d.%d" % (number, each), b"%d" % each)
        producer.abort_transaction(60) if number % 3 == 0 else producer.commit_transaction(60)


def test_a_mirror_is_the_original_and_maps_its_offsets(spark, broker, other, new_topic):
    topic = new_topic(2, retention_ms="-1")
    send(broker.bootstrap, topic, [(b"k%d" % (n % 5), {"id": n}) for n in range(200)])
    send_in_transactions(broker.bootstrap, topic, 6)
    first = mirror(broker.bootstrap, other.bootstrap, [topic], spark=spark, batch_rows=100)
    assert first.rows == 220 and first.batches > 1
    send(broker.bootstrap, topic, [(b"k%d" % n, None) for n in range(10)])
    second = mirror(broker.bootstrap, other.bootstrap, [topic], spark=spark)
    assert second.rows == 10
    assert mirror(broker.bootstrap, other.bootstrap, [topic], spark=spark).rows == 0

    original, copy = records_of(broker.bootstrap, topic), records_of(other.bootstrap, topic)
    assert contents(original) == contents(copy)
    notes, cluster = read_notes(Kafka(other.bootstrap)), look_at(Kafka(broker.bootstrap), topic).cluster_id
    for (partition, offset, _), (_, there, _) in zip(original, copy, strict=True):
        assert target_offset(mirrored_runs(notes, cluster, topic, partition), offset) == there


def test_a_group_finds_its_place_in_the_mirror(spark, broker, other, new_topic):
    topic = new_topic()
    send_in_transactions(broker.bootstrap, topic, 4)
    group = ConsumerGroupTopicPartitions("movers", [TopicPartition(topic, 0, 9)])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.alter_consumer_group_offsets([group], request_timeout=ADMIN_SECONDS)["movers"].result(ADMIN_SECONDS)
    report = mirror(broker.bootstrap, other.bootstrap, [topic], groups=["movers"], spark=spark)
    assert report.groups == 1
    there = AdminClient({"bootstrap.servers": other.bootstrap, "log_level": 0})
    asked = there.list_consumer_group_offsets([ConsumerGroupTopicPartitions("movers")], request_timeout=ADMIN_SECONDS)
    (place,) = asked["movers"].result(ADMIN_SECONDS).topic_partitions
    originals, copies = records_of(broker.bootstrap, topic), records_of(other.bootstrap, topic)
    unread = [content for _, offset, content in originals if offset >= 9]
    assert [content for _, offset, content in copies if offset >= place.offset] == unread


def test_a_mirror_needs_two_clusters_or_two_names(spark, broker, new_topic):
    topic = new_topic()
    send(broker.bootstrap, topic, [b"a"])
    with pytest.raises(UserError, match="same cluster"):
        mirror(broker.bootstrap, broker.bootstrap, [topic], spark=spark)
    assert mirror(broker.bootstrap, broker.bootstrap, [topic], prefix="copy.", spark=spark).rows == 1


@pytest.mark.parametrize("format", ["iceberg", "parquet"])
def test_a_table_goes_back_to_a_topic(spark, broker, new_topic, tmp_path, format):
    topic = new_topic(3)
    send(broker.bootstrap, topic, [(b"k%d" % (n % 7), {"id": n}) for n in range(300)] + [(b"k", None), (None, b"")])
    lake(topic, tmp_path, bootstrap=broker.bootstrap, format=format, spark=spark, batch_rows=100)
    first = replay(tmp_path, f"{topic}-back", bootstrap=broker.bootstrap, spark=spark, batch_rows=150)
    assert first.rows == 302 and first.batches > 1 and first.made_topic
    assert replay(tmp_path, f"{topic}-back", bootstrap=broker.bootstrap, spark=spark).rows == 0
    assert contents(records_of(broker.bootstrap, topic)) == contents(records_of(broker.bootstrap, f"{topic}-back"))
    again = replay(tmp_path, f"{topic}-back", name="again", bootstrap=broker.bootstrap, spark=spark)
    assert again.rows == 302
