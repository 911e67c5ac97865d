"""`import headrace` against a real broker: deliveries, commits after the body, seeks, transactions, topics, lag."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

import headrace
from ended import until_ended
from eventually import until
from headrace.api.errors import Closed, DeliveryFailed, TransactionMisused, UnknownOption
from headrace.testing import Broker

IDLE = 3.0


@pytest.fixture
def client(headrace_broker: Broker) -> Iterator[headrace.Client]:
    with headrace.connect(headrace_broker.bootstrap, session_timeout_ms=6000) as made:
        yield made


@pytest.fixture
def topic(client: headrace.Client, headrace_topic: str) -> str:
    client.create_topic(headrace_topic, partitions=1)
    return headrace_topic


def fill(client: headrace.Client, topic: str, count: int, first: int = 0) -> None:
    with client.producer() as producer:
        for number in range(first, first + count):
            producer.send(topic, str(number))


def take(consumer: headrace.Consumer, count: int) -> list[str]:
    """Finishes `count` messages, and has none in hand."""
    taken: list[str] = []
    for message in consumer:
        taken.append(message.text)
        if len(taken) == count:
            consumer.commit_offset(message)
            return taken
    return taken


def test_a_delivery_says_where_the_message_lies(client: headrace.Client, topic: str) -> None:
    assert client.produce(topic, {"id": 1}, key="k", headers={"kind": "test"}) == (topic, 0, 0)
    with client.producer("sender", {"linger.ms": 1}) as producer:
        assert [producer.send(topic, "x").result(30).offset for _ in range(3)] == [1, 2, 3]
    read = list(client.fetch(topic))
    assert [each.offset for each in read] == [0, 1, 2, 3]
    assert (read[0].json(), read[0].key, read[0].headers) == ({"id": 1}, b"k", (("kind", b"test"),))


def test_a_failed_delivery_is_told_though_nobody_asked(client: headrace.Client, topic: str) -> None:
    producer = client.producer()
    producer.send(topic, "x", partition=9)
    with pytest.raises(DeliveryFailed):
        producer.close()


def test_a_burst_without_keys_is_spread_where_that_is_asked_for(headrace_broker: Broker, headrace_topic: str) -> None:
    with headrace.connect(headrace_broker.bootstrap, sticky_partitioning_linger_ms=0) as client:
        client.create_topic(headrace_topic, partitions=6)
        with client.producer() as producer:
            producer.send(headrace_topic, "first").result(30)
            deliveries = [producer.send(headrace_topic, str(number)) for number in range(200)]
            counts = Counter(delivery.result(30).partition for delivery in deliveries)
        # 33 each by chance; together they would be 200 in one.
        assert len(counts) == 6 and max(counts.values()) < 100


def test_unknown_options_get_the_nearest_name(headrace_broker: Broker) -> None:
    with pytest.raises(UnknownOption, match=r"no setting linger.mss\ndid you mean linger.ms\?"):
        headrace.connect(headrace_broker.bootstrap, linger_mss=5)
    with pytest.raises(UnknownOption, match=r"no option stop_on_signal\ndid you mean stop_on_signals\?"):
        headrace.connect(headrace_broker.bootstrap, stop_on_signal=True)


def test_a_connect_that_is_refused_leaves_signals_alone(headrace_broker: Broker) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(UnknownOption):
        headrace.connect(headrace_broker.bootstrap, stop_on_signals=True, linger_mss=5)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_closed_client_says_so(headrace_broker: Broker, topic: str) -> None:
    with headrace.connect(headrace_broker.bootstrap) as client:
        producer, consumer = client.producer(), client.join_group("g", topic)
    for call in (lambda: client.topics(), lambda: producer.send(topic, "x"), lambda: next(iter(consumer))):
        with pytest.raises(Closed):
            call()


def test_a_body_that_raises_has_its_message_again(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 5)
    seen = []
    with pytest.raises(RuntimeError), client.join_group(topic, topic) as consumer:
        for message in consumer:
            seen.append(message.text)
            if message.text == "2":
                raise RuntimeError("of the body")
    assert client.lag(topic).total == 3
    with client.join_group(topic, topic) as consumer:
        seen += [each.text for each in consumer.messages(idle_seconds=IDLE)]
    assert seen == ["0", "1", "2", "2", "3", "4"]
    assert client.lag(topic).total == 0


def test_a_second_loop_begins_with_what_the_first_left_unfinished(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 3)
    with client.join_group(topic, topic) as consumer:
        for message in consumer:
            if message.text == "1":
                break
        assert [each.text for each in consumer.messages(idle_seconds=IDLE)] == ["1", "2"]


def test_batches_are_committed_as_a_whole(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 6)
    with pytest.raises(RuntimeError), client.join_group(topic, topic) as consumer:
        for number, batch in enumerate(consumer.batches(messages_max=2, wait_seconds=30)):
            assert len(batch) == 2
            if number == 2:
                raise RuntimeError("of the body")
    assert client.lag(topic).total == 2


def test_seek_by_offset_and_by_time(client: headrace.Client, topic: str) -> None:
    for number in range(4):
        client.produce(topic, str(number), timestamp_ms=1_700_000_000_000 + number * 1000)
    with client.join_group(topic, topic) as consumer:
        consumer.seek(3)
        assert take(consumer, 1) == ["3"]
        consumer.seek(datetime.fromtimestamp(1_700_000_001, UTC))
        assert take(consumer, 2) == ["1", "2"]
        consumer.seek("earliest", topic, 0)
        assert take(consumer, 1) == ["0"]
    assert [each.text for each in client.fetch(topic, start=2, partition=0)] == ["2", "3"]


def test_a_paused_consumer_gets_nothing_until_it_is_resumed(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 2)
    with client.join_group(topic, topic) as consumer:
        assert take(consumer, 1) == ["0"]
        consumer.pause()
        assert list(consumer.messages(idle_seconds=0.5)) == []
        consumer.resume()
        assert take(consumer, 1) == ["1"]


def test_what_is_finished_is_committed_when_another_joins(client: headrace.Client, headrace_topic: str) -> None:
    topic = headrace_topic
    client.create_topic(topic, partitions=2)
    for number in range(20):
        client.produce(topic, str(number), partition=number % 2)
    seen: set[int] = set()

    def read_too() -> None:
        with client.join_group(topic, topic) as second:
            seen.update(int(each.text) for each in second.messages(idle_seconds=IDLE))

    with client.join_group(topic, topic) as first:
        seen.update(int(each.text) for _, each in zip(range(10), first, strict=False))
        other = threading.Thread(target=read_too)
        other.start()
        while other.is_alive() or len(seen) < 20:
            seen.update(int(each.text) for each in first.messages(idle_seconds=0.5))
        other.join()
    assert seen == set(range(20))
    assert client.lag(topic).total == 0


def test_a_transaction_moves_messages_and_offsets_together(client: headrace.Client, headrace_topic: str) -> None:
    source, sink = f"{headrace_topic}-in", f"{headrace_topic}-out"
    for each in (source, sink):
        client.create_topic(each, partitions=1)
    fill(client, source, 6)
    failed = False
    producer = client.transactional_producer(headrace_topic)
    with client.join_group(source, source) as consumer:
        for batch in consumer.batches(messages_max=3, wait_seconds=30, idle_seconds=IDLE):
            try:
                with producer.transaction(consumer) as transaction:
                    for message in batch:
                        transaction.send(sink, message.value)
                    if message.text == "5" and not failed:
                        failed = True
                        raise RuntimeError("of the body")
            except RuntimeError:
                continue
    assert failed
    assert [each.text for each in client.fetch(sink)] == ["0", "1", "2", "3", "4", "5"]
    assert client.lag(source).total == 0


def test_a_delivery_that_fails_in_a_body_aborts_its_transaction(
    client: headrace.Client, topic: str, headrace_broker: Broker
) -> None:
    producer = client.transactional_producer(topic)
    with pytest.raises(DeliveryFailed), producer.transaction() as transaction:
        transaction.send(topic, "lost")
        transaction.send(topic, "x", partition=9).result(30)
    with producer.transaction() as transaction:
        transaction.send(topic, "kept")
    until_ended(headrace_broker.bootstrap, topic)
    assert [each.text for each in client.fetch(topic)] == ["kept"]


def test_a_transaction_cannot_be_misused(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 1)
    producer = client.transactional_producer(topic)
    with pytest.raises(TransactionMisused, match="inside a transaction"):
        producer.send(topic, "x")
    with client.join_group(topic, topic) as consumer:
        message = next(iter(consumer))
        with producer.transaction(consumer) as transaction:
            with pytest.raises(TransactionMisused, match="transaction of this consumer is open"):
                consumer.commit_offset(message)
            with pytest.raises(TransactionMisused, match="before the next"), producer.transaction():
                pass
    with pytest.raises(TransactionMisused, match="has ended"):
        transaction.send(topic, "late")


def test_topics_are_made_described_changed_and_deleted(client: headrace.Client, headrace_topic: str) -> None:
    client.create_topic(headrace_topic, partitions=2, config={"retention.ms": 60_000})
    client.create_topic(headrace_topic, exist_ok=True)
    client.alter_topic(headrace_topic, partitions=3, config={"retention.ms": 90_000})
    found = client.describe_topic(headrace_topic)
    assert (len(found.partitions), found.config["retention.ms"]) == (3, "90000")
    with pytest.raises(headrace.ApiError, match=r"did you mean retention\.ms"):
        client.alter_topic(headrace_topic, config={"retention.m": 1})
    with pytest.raises(headrace.ApiError, match="exist_ok"):
        client.create_topic(headrace_topic)
    client.delete_topic(headrace_topic)
    assert headrace_topic not in client.topics()
    with pytest.raises(headrace.ApiError, match="create it with"):
        client.describe_topic("no-such-topic-anywhere")


def test_a_signal_ends_the_loop_after_its_body(headrace_broker: Broker, client: headrace.Client, topic: str) -> None:
    fill(client, topic, 3)
    before = signal.getsignal(signal.SIGTERM)
    with headrace.connect(headrace_broker.bootstrap, stop_on_signals=True) as stopped:
        seen = []
        for message in stopped.join_group(topic, topic):
            os.kill(os.getpid(), signal.SIGTERM)
            seen.append(message.text)
    assert seen == ["0"]
    assert client.lag(topic).total == 2
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_context_of_a_span_travels_in_headers(headrace_broker: Broker, topic: str) -> None:
    from opentelemetry import trace

    span = trace.NonRecordingSpan(trace.SpanContext(7, 9, is_remote=False, trace_flags=trace.TraceFlags(1)))
    with headrace.connect(headrace_broker.bootstrap, traces=True) as client, trace.use_span(span):
        client.produce(topic, "x")
        (message,) = client.fetch(topic)
    assert dict(message.headers)["traceparent"] == f"00-{7:032x}-{9:016x}-01".encode()
    taken_up = trace.get_current_span(message.trace_context()).get_span_context()
    assert (taken_up.trace_id, taken_up.span_id, taken_up.is_remote) == (7, 9, True)


def test_lag_counts_what_a_group_has_not_committed_yet(client: headrace.Client, headrace_topic: str) -> None:
    group = headrace_topic
    client.create_topic(headrace_topic, partitions=3)
    with pytest.raises(headrace.ApiError, match="has committed nothing, and reads nothing"):
        client.lag(group)
    with client.producer() as producer:
        for number in range(6):
            producer.send(headrace_topic, str(number), partition=number % 2)
    with client.join_group(group, headrace_topic) as consumer:
        message = next(iter(consumer))
        # It reads, and nothing is finished.
        assert client.lag(group).partitions == {(headrace_topic, 0): 3, (headrace_topic, 1): 3, (headrace_topic, 2): 0}
        consumer.commit_offset(message)
    lag = client.lag(group)
    assert (lag.partitions[message.place_id], lag.total, len(lag.partitions)) == (2, 5, 3)


def test_lag_counts_nothing_that_is_not_there_any_more(
    headrace_broker: Broker, client: headrace.Client, topic: str
) -> None:
    fill(client, topic, 10)
    with client.join_group(topic, topic) as consumer:
        take(consumer, 2)
    admin = AdminClient({"bootstrap.servers": headrace_broker.bootstrap})
    admin.delete_records([TopicPartition(topic, 0, 7)])[TopicPartition(topic, 0)].result()
    assert client.lag(topic).total == 3


def test_lag_of_a_group_whose_topic_was_deleted(client: headrace.Client, topic: str) -> None:
    other = f"{topic}-other"
    client.create_topic(other, partitions=1)
    fill(client, topic, 3)
    fill(client, other, 3)
    with client.join_group(topic, topic, other) as consumer:
        take(consumer, 6)
    client.delete_topic(other)
    until(client.topics, lambda topics: other not in topics)
    assert client.lag(topic).partitions == {(topic, 0): 0}
