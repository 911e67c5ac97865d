"""Mirror and replay between real brokers: the copy is the original, once, and offsets find their records."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pipeline_topics import ADMIN_SECONDS, records_of, send

from eventually import until
from headrace.base.errors import UserError
from headrace.pipelines.kafka import Kafka, look_at, look_at_all
from headrace.pipelines.lake import lake
from headrace.pipelines.mirror import mirror
from headrace.pipelines.mirrored_groups import NOTES, carry_over, mirrored_runs, read_notes
from headrace.pipelines.offset_runs import target_offset
from headrace.pipelines.replay import replay
from headrace.pipelines.target_topics import ensure_topic
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
    look_at_all(Kafka(bootstrap), topic, seconds=60)


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


@pytest.fixture
def committed(broker, new_topic):
    """A topic with gaps, and a group that has read it up to offset 9."""
    topic = new_topic()
    send_in_transactions(broker.bootstrap, topic, 4)
    group = ConsumerGroupTopicPartitions(f"of-{topic}", [TopicPartition(topic, 0, 9)])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    asked = admin.alter_consumer_group_offsets([group], request_timeout=ADMIN_SECONDS)
    (place,) = asked[group.group_id].result(ADMIN_SECONDS).topic_partitions
    assert place.error is None
    return topic, group.group_id


def places_of(bootstrap, group):
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=ADMIN_SECONDS)
    return asked[group].result(ADMIN_SECONDS).topic_partitions


def test_a_group_finds_its_place_in_the_mirror(spark, broker, other, committed):
    topic, group = committed
    report = mirror(broker.bootstrap, other.bootstrap, [topic], groups=[group], spark=spark)
    assert report.groups == 1
    (place,) = places_of(other.bootstrap, group)
    originals, copies = records_of(broker.bootstrap, topic), records_of(other.bootstrap, topic)
    unread = [content for _, offset, content in originals if offset >= 9]
    assert [content for _, offset, content in copies if offset >= place.offset] == unread


def test_a_group_waits_for_notes_behind_an_open_transaction(spark, broker, other, committed):
    """As for those whose own end is stored, and whose markers are still to come."""
    topic, group = committed
    other_mirror = Producer({"bootstrap.servers": other.bootstrap, "transactional.id": f"other-{topic}"})
    other_mirror.init_transactions(60)
    ensure_topic(Kafka(other.bootstrap), NOTES, 1, {"cleanup.policy": "compact"})
    other_mirror.begin_transaction()
    other_mirror.produce(NOTES, b"{}", b"{}")
    assert other_mirror.flush(60) == 0
    mirror(broker.bootstrap, other.bootstrap, [topic], spark=spark)
    with ThreadPoolExecutor(1) as beside:
        carried = beside.submit(mirror, broker.bootstrap, other.bootstrap, [topic], groups=[group], spark=spark)
        assert not wait([carried], timeout=2).done, carried.result()
        other_mirror.abort_transaction(60)
        assert carried.result().groups == 1


def test_a_group_with_members_on_the_target_is_left_alone(spark, broker, other, committed):
    topic, group = committed
    mirror(broker.bootstrap, other.bootstrap, [topic], spark=spark)
    member = Consumer({"bootstrap.servers": other.bootstrap, "group.id": group, "enable.auto.commit": False})
    member.subscribe([topic])
    until(lambda: member.poll(0.1) is None and member.assignment())
    try:
        assert mirror(broker.bootstrap, other.bootstrap, [topic], groups=[group], spark=spark).groups == 0
        assert places_of(other.bootstrap, group) == []
    finally:
        member.close()


def test_a_place_that_the_target_does_not_take_is_an_error(spark, broker, other, committed):
    topic, group = committed
    mirror(broker.bootstrap, other.bootstrap, [topic], spark=spark)
    admin = AdminClient({"bootstrap.servers": other.bootstrap, "log_level": 0})
    admin.delete_topics([topic], request_timeout=ADMIN_SECONDS)[topic].result(ADMIN_SECONDS)
    here, there = Kafka(broker.bootstrap), Kafka(other.bootstrap)
    with pytest.raises(UserError, match=topic):
        carry_over(here, there, look_at(here, topic).cluster_id, [topic], "", [group])


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
