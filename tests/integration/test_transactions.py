"""Transactions of real clients on one broker: seen whole or not at all, fenced, timed out, and with a group's offsets."""

import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from clients.raw import RawClient
from ended import until_ended
from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.producers import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
    TopicRequest,
)
from headrace.wire.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
)
from headrace.wire.records import Record, build_batch

SECONDS = 60.0


@pytest.fixture
def transactional(bootstrap: str) -> Iterator[Callable[..., Producer]]:
    def make(name: str | None = None, **settings: object) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": name or f"tx-{uuid.uuid4().hex[:8]}",
                "linger.ms": 0,
                **settings,
                "log_level": 0,
            }
        )
        producer.init_transactions(SECONDS)
        return producer

    yield make


def read(bootstrap: str, topic: str, isolation: str = "read_committed", partition: int = 0) -> list[bytes]:
    """All that is in the topic, once its transactions have ended."""
    until_ended(bootstrap, topic)
    return read_now(bootstrap, topic, isolation, partition)


def read_now(bootstrap: str, topic: str, isolation: str = "read_committed", partition: int = 0) -> list[bytes]:
    """Everything there is to read, up to the end that this isolation level has."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"g-{uuid.uuid4().hex[:8]}",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[bytes] = []
    while True:
        message = consumer.poll(SECONDS)
        assert message is not None, "nothing came, not even the end"
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        values.append(message.value())
    consumer.close()
    return values


def test_a_program_may_abort_right_after_its_first_message(transactional, new_topic, bootstrap) -> None:
    """librdkafka then ends a transaction whose partitions it has just asked for, while markers of the last are written."""
    topic = new_topic()
    producer = transactional()
    for number in range(60):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        # Long enough for the partition to be asked for, not always for the answer.
        producer.poll(number % 5 / 1000)
        producer.abort_transaction(SECONDS) if number % 2 else producer.commit_transaction(SECONDS)
    assert read(bootstrap, topic) == [b"%d" % number for number in range(0, 60, 2)]


def test_committed_is_seen_and_aborted_is_not(bootstrap, new_topic, transactional) -> None:
    topic = new_topic(partitions=2)
    producer = transactional()
    for number in range(4):
        producer.begin_transaction()
        for partition in range(2):
            producer.produce(topic, f"{number}".encode(), partition=partition)
        # What is not sent yet, an abort takes back unsent.
        producer.flush(SECONDS)
        if number % 2:
            producer.abort_transaction(SECONDS)
        else:
            producer.commit_transaction(SECONDS)
    for partition in range(2):
        assert read(bootstrap, topic, partition=partition) == [b"0", b"2"]
    assert read(bootstrap, topic, "read_uncommitted") == [b"0", b"1", b"2", b"3"]


def test_an_open_transaction_hides_what_comes_after_it(bootstrap, topic, transactional, reference) -> None:
    producer = transactional()
    producer.begin_transaction()
    producer.produce(topic, b"in doubt")
    producer.flush(SECONDS)
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce(topic, b"plain")
    plain.flush(SECONDS)
    assert read_now(bootstrap, topic) == []
    assert read_now(bootstrap, topic, "read_uncommitted") == [b"in doubt", b"plain"]
    producer.commit_transaction(SECONDS)
    assert read(bootstrap, topic) == [b"in doubt", b"plain"]


def test_a_waiting_reader_is_woken_by_the_commit(bootstrap, topic, transactional) -> None:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "waits", "fetch.wait.max.ms": 20_000, "auto.offset.reset": "error"}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = transactional()
    producer.begin_transaction()
    producer.produce(topic, b"v")
    producer.flush(SECONDS)
    assert consumer.poll(1.0) is None
    producer.commit_transaction(SECONDS)
    message: Message | None = consumer.poll(SECONDS)
    assert message is not None
    assert message.value() == b"v"
    consumer.close()


def test_the_next_producer_of_an_id_fences_the_one_before(bootstrap, topic, transactional) -> None:
    name = f"tx-{uuid.uuid4().hex[:8]}"
    zombie = transactional(name)
    zombie.begin_transaction()
    zombie.produce(topic, b"zombie")
    zombie.flush(SECONDS)
    heir = transactional(name)
    with pytest.raises(KafkaException) as caught:
        zombie.commit_transaction(SECONDS)
    assert caught.value.args[0].fatal()
    heir.begin_transaction()
    heir.produce(topic, b"heir")
    heir.commit_transaction(SECONDS)
    assert read(bootstrap, topic) == [b"heir"]


def test_a_transaction_that_takes_too_long_is_aborted(bootstrap, topic, transactional) -> None:
    producer = transactional(**{"transaction.timeout.ms": 1000})
    producer.begin_transaction()
    producer.produce(topic, b"slow")
    producer.flush(SECONDS)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "later", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce(topic, b"after")
    plain.flush(SECONDS)
    message = consumer.poll(SECONDS)
    assert message is not None
    assert message.value() == b"after", "the time-out has moved the last stable offset"
    with pytest.raises(KafkaException):
        producer.commit_transaction(SECONDS)
    consumer.close()


def test_offsets_count_with_the_transaction(bootstrap, new_topic, transactional) -> None:
    source, sink = new_topic(), new_topic()
    plain = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        plain.produce(source, f"{number}".encode())
    plain.flush(SECONDS)
    group = f"g-{uuid.uuid4().hex[:8]}"
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([source])
    producer = transactional()
    copied = 0
    while copied < 10:
        batch = [message for message in consumer.consume(4, 5.0) if not message.error()]
        producer.begin_transaction()
        for message in batch:
            producer.produce(sink, message.value())
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), SECONDS)
        if copied == 0:
            producer.abort_transaction(SECONDS)
            committed = consumer.committed(consumer.assignment(), SECONDS)
            assert [each.offset for each in committed] == [-1001], "an aborted commit is none"
            producer.begin_transaction()
            for message in batch:
                producer.produce(sink, message.value())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), SECONDS)
        producer.commit_transaction(SECONDS)
        copied += len(batch)
    committed = consumer.committed(consumer.assignment(), SECONDS)
    assert [each.offset for each in committed] == [10]
    consumer.close()
    assert read(bootstrap, sink) == [f"{number}".encode() for number in range(10)]


# -- what well-behaved clients do not do -------------------------------------------------------------------------------


@pytest.fixture
def raw(bootstrap: str) -> Iterator[RawClient]:
    with RawClient(bootstrap) as client:
        yield client


def begun(raw: RawClient, name: str) -> tuple[int, int]:
    """A producer id and epoch for this transactional id, asked until the coordinator is there."""
    for _ in range(100):
        raw.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 4)
        answer = raw.ask(InitProducerIdRequest(name, 60_000), 4)
        if not answer.error_code:
            return answer.producer_id, answer.producer_epoch
        assert ErrorCode(answer.error_code).retriable, answer
    raise AssertionError("no coordinator came")


def add(raw: RawClient, name: str, producer: tuple[int, int], topic: str, partitions: list[int]) -> list[int]:
    topics = [AddPartitionsToTxnTopic(topic, partitions)]
    answer = raw.ask(AddPartitionsToTxnRequest([], name, *producer, topics), 3)
    return [part.partition_error_code for part in answer.results_by_topic_v3_and_below[0].results_by_partition]


def batch(producer: tuple[int, int], sequence: int = 0) -> bytes:
    return build_batch(
        [Record(timestamp=1, value=b"v")],
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        transactional=True,
    )


def produce(raw: RawClient, name: str | None, topic: str, content: bytes, version: int) -> int:
    from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, memoryview(content))])]
    answer = raw.ask(ProduceRequest(name, -1, 10_000, data), version)
    return answer.responses[0].partition_responses[0].error_code


def test_wrong_producers_and_ends_get_the_right_code(raw: RawClient, topic: str) -> None:
    name = f"tx-{uuid.uuid4().hex[:8]}"
    producer_id, epoch = producer = begun(raw, name)
    assert raw.ask(EndTxnRequest(name, *producer, True), 3).error_code == ErrorCode.INVALID_TXN_STATE
    assert add(raw, name, producer, topic, [0, 9]) == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert add(raw, name, (producer_id + 1000, epoch), topic, [0]) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert add(raw, name, (producer_id, epoch + 1), topic, [0]) == [ErrorCode.PRODUCER_FENCED]
    assert add(raw, name, producer, topic, [0]) == [0]
    fenced = raw.ask(EndTxnRequest(name, producer_id, epoch + 1, True), 1)
    assert fenced.error_code == ErrorCode.INVALID_PRODUCER_EPOCH, "version 1 has no other word for it"
    assert raw.ask(EndTxnRequest(name, *producer, True), 3).error_code == 0
    assert raw.ask(EndTxnRequest(name, *producer, True), 3).error_code == 0
    assert raw.ask(EndTxnRequest(name, *producer, False), 3).error_code == ErrorCode.INVALID_TXN_STATE
    too_long = raw.ask(InitProducerIdRequest(name, 16 * 60_000), 4)
    assert too_long.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert raw.ask(InitProducerIdRequest("", 60_000), 4).error_code == ErrorCode.INVALID_REQUEST


def test_a_write_outside_the_transaction_is_refused(raw: RawClient, bootstrap: str, topic: str) -> None:
    name = f"tx-{uuid.uuid4().hex[:8]}"
    producer = begun(raw, name)
    assert produce(raw, name, topic, batch(producer), 9) == ErrorCode.INVALID_TXN_STATE
    assert produce(raw, name, topic, batch(producer), 11) == ErrorCode.TRANSACTION_ABORTABLE
    assert add(raw, name, producer, topic, [0]) == [0]
    assert produce(raw, name, topic, batch(producer), 9) == 0
    assert produce(raw, name, topic, batch(producer), 9) == 0, "a resend"
    assert raw.ask(EndTxnRequest(name, *producer, True), 3).error_code == 0
    assert read(bootstrap, topic) == [b"v"]
    assert produce(raw, name, topic, batch(producer, 1), 9) == ErrorCode.INVALID_TXN_STATE, "it came too late"
    assert produce(raw, name, topic, batch((producer[0], producer[1] - 1), 1), 9) != 0


def test_the_second_generation_adds_by_writing_and_gets_an_epoch_with_each_end(
    raw: RawClient, bootstrap: str, topic: str
) -> None:
    name = f"tx-{uuid.uuid4().hex[:8]}"
    producer = begun(raw, name)
    for number in range(3):
        assert produce(raw, name, topic, batch(producer), 12) == 0
        ended = raw.ask(EndTxnRequest(name, *producer, number != 1), 5)
        assert (ended.error_code, ended.producer_id, ended.producer_epoch) == (0, producer[0], producer[1] + 1)
        repeated = raw.ask(EndTxnRequest(name, *producer, number != 1), 5)
        assert (repeated.error_code, repeated.producer_epoch) == (0, producer[1] + 1)
        assert produce(raw, name, topic, batch(producer, 1), 12) == ErrorCode.INVALID_PRODUCER_EPOCH
        producer = ended.producer_id, ended.producer_epoch
    assert read(bootstrap, topic) == [b"v", b"v"]


def test_a_topic_that_is_deleted_meanwhile_does_not_hold_the_transaction_up(
    raw: RawClient, bootstrap: str, new_topic, reference
) -> None:
    doomed, kept = new_topic(), new_topic()
    name = f"tx-{uuid.uuid4().hex[:8]}"
    producer = begun(raw, name)
    assert produce(raw, name, doomed, batch(producer), 12) == 0
    assert produce(raw, name, kept, batch(producer), 12) == 0
    reference.delete_topic(doomed)
    ended = raw.ask(EndTxnRequest(name, *producer, True), 5)
    assert ended.error_code == 0
    assert read(bootstrap, kept) == [b"v"]
    producer = ended.producer_id, ended.producer_epoch
    assert produce(raw, name, kept, batch(producer), 12) == 0, "the next one may begin"


def test_operators_see_what_is_open(raw: RawClient, topic: str) -> None:
    name = f"tx-{uuid.uuid4().hex[:8]}"
    producer = begun(raw, name)
    assert produce(raw, name, topic, batch(producer), 12) == 0
    (found,) = raw.ask(DescribeTransactionsRequest([name]), 0).transaction_states
    assert (found.transaction_state, found.producer_id, found.topics[0].topic) == ("Ongoing", producer[0], topic)
    listed = raw.ask(ListTransactionsRequest(["Ongoing"], [producer[0]]), 1).transaction_states
    assert [each.transactional_id for each in listed] == [name]
    for pattern, found_by_it in ((f"{name[:5]}.*", [name]), (f"{name[:5]}", []), (f"({name}|(a|a)+$)", [name])):
        listed = raw.ask(ListTransactionsRequest(["Ongoing"], [producer[0]], -1, pattern), 2).transaction_states
        assert [each.transactional_id for each in listed] == found_by_it, pattern
    bad = raw.ask(ListTransactionsRequest([], [], -1, "(("), 2)
    assert bad.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    described = raw.ask(DescribeProducersRequest([TopicRequest(topic, [0])]), 0)
    (state,) = described.topics[0].partitions[0].active_producers
    assert (state.producer_id, state.current_txn_start_offset) == (producer[0], 0)
    (unknown,) = raw.ask(DescribeTransactionsRequest(["never seen"]), 0).transaction_states
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_marker_is_one_offset_long(raw: RawClient, bootstrap: str, topic: str) -> None:
    from raw_batches import raw_batches

    name = f"tx-{uuid.uuid4().hex[:8]}"
    producer = begun(raw, name)
    assert produce(raw, name, topic, batch(producer), 12) == 0
    assert raw.ask(EndTxnRequest(name, *producer, True), 5).error_code == 0
    assert read(bootstrap, topic) == [b"v"]
    data, marker = raw_batches(bootstrap, topic)
    assert parse_header(batch(producer)).is_transactional
    assert (data.base_offset, marker.base_offset, marker.record_count) == (0, 1, 1)
