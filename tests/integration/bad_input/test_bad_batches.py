"""Batches that may not enter a log: each is refused with Kafka's code, the connection stays, the log stays as it was."""

import subprocess
import sys

import pytest
from watched_broker import WatchedBroker

from clients.raw import RawClient
from clients.raw_records import fetch, good_batch, produce, produce_request, sealed, with_fields
from headrace.wire.batch import CorruptBatch, parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from headrace.wire.records import read_records

GOOD = good_batch(b"one", b"two")
FAR_FUTURE = 1 << 50
INT32_MAX = (1 << 31) - 1
CONTROL, LOG_APPEND_TIME, TRANSACTIONAL = 0x20, 0x08, 0x10


def flipped(batch: bytes, position: int) -> bytes:
    return batch[:position] + bytes([batch[position] ^ 1]) + batch[position + 1 :]


BAD_BATCHES = {
    "no records": (None, ErrorCode.INVALID_RECORD),
    "empty": (b"", ErrorCode.INVALID_RECORD),
    "half a header": (GOOD[:40], ErrorCode.INVALID_RECORD),
    "cut short": (GOOD[:-1], ErrorCode.INVALID_RECORD),
    "bytes after it": (GOOD + b"\0", ErrorCode.INVALID_RECORD),
    "two batches": (GOOD + GOOD, ErrorCode.INVALID_RECORD),
    "checksum": (flipped(GOOD, 17), ErrorCode.CORRUPT_MESSAGE),
    "a bit in the records": (flipped(GOOD, len(GOOD) - 1), ErrorCode.CORRUPT_MESSAGE),
    "magic 0": (with_fields(GOOD, magic=0), ErrorCode.INVALID_RECORD),
    "magic 1": (with_fields(GOOD, magic=1), ErrorCode.INVALID_RECORD),
    "magic 3": (with_fields(GOOD, magic=3), ErrorCode.INVALID_RECORD),
    "negative length": (with_fields(GOOD, batch_length=-1), ErrorCode.INVALID_RECORD),
    "length 0": (with_fields(GOOD, batch_length=0), ErrorCode.INVALID_RECORD),
    "length 2^31-1": (with_fields(GOOD, batch_length=INT32_MAX), ErrorCode.INVALID_RECORD),
    "base offset": (with_fields(GOOD, base_offset=5), ErrorCode.INVALID_RECORD),
    "count above delta": (with_fields(GOOD, record_count=3), ErrorCode.INVALID_RECORD),
    "count below delta": (with_fields(GOOD, record_count=1), ErrorCode.INVALID_RECORD),
    "count 0": (with_fields(GOOD, record_count=0, last_offset_delta=-1), ErrorCode.INVALID_RECORD),
    "count -1": (with_fields(GOOD, record_count=-1, last_offset_delta=-2), ErrorCode.INVALID_RECORD),
    "count 2^31-1 in few bytes": (
        with_fields(GOOD, record_count=INT32_MAX, last_offset_delta=INT32_MAX - 1),
        ErrorCode.INVALID_RECORD,
    ),
    "control": (with_fields(GOOD, attributes=CONTROL), ErrorCode.INVALID_RECORD),
    "LogAppendTime": (with_fields(GOOD, attributes=LOG_APPEND_TIME), ErrorCode.INVALID_TIMESTAMP),
    "transactional": (
        with_fields(GOOD, attributes=TRANSACTIONAL, producer_id=1, producer_epoch=0, base_sequence=0),
        ErrorCode.INVALID_TXN_STATE,
    ),
    "codec 5": (with_fields(GOOD, attributes=5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "codec 7": (with_fields(GOOD, attributes=7), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "producer without epoch": (with_fields(GOOD, producer_id=1, base_sequence=0), ErrorCode.INVALID_RECORD),
    "producer without sequence": (with_fields(GOOD, producer_id=1, producer_epoch=0), ErrorCode.INVALID_RECORD),
    "timestamp far in the future": (with_fields(GOOD, max_timestamp=FAR_FUTURE), ErrorCode.INVALID_TIMESTAMP),
    "too large": (good_batch(bytes(2 << 20)), ErrorCode.MESSAGE_TOO_LARGE),
}


@pytest.mark.parametrize(("records", "code"), BAD_BATCHES.values(), ids=BAD_BATCHES)
def test_a_bad_batch_is_refused(client: RawClient, topic: str, records: bytes | None, code: int) -> None:
    answer = produce(client, topic, records)
    assert (answer.error_code, answer.base_offset) == (code, -1)
    assert answer.error_message
    assert produce(client, topic, GOOD).base_offset == 0, "something was written"


def test_zstd_needs_version_7(client: RawClient, topic: str) -> None:
    batch = good_batch(b"v" * 100, codec=4)
    assert produce(client, topic, batch, version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(client, topic, batch, version=7).error_code == 0


@pytest.mark.parametrize("acks", [7, 2, -2])
def test_acks_that_do_not_exist(client: RawClient, topic: str, acks: int) -> None:
    assert produce(client, topic, GOOD, acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS


@pytest.mark.parametrize("partition", [2, -1, INT32_MAX])
def test_a_partition_that_does_not_exist(client: RawClient, topic: str, partition: int) -> None:
    answer = produce(client, topic, GOOD, partition=partition)
    assert (answer.index, answer.error_code) == (partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("name", ["nobody-made-this", "", "no/such name", "x" * 300])
def test_a_topic_that_does_not_exist(client: RawClient, name: str) -> None:
    assert produce(client, name, GOOD).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_id_that_does_not_exist(client: RawClient) -> None:
    request = ProduceRequest(
        None, -1, 1000, [TopicProduceData(topic_id=b"i" * 16, partition_data=[PartitionProduceData(0, GOOD)])]
    )
    (answer,) = client.ask(request, 13).responses
    assert answer.topic_id == b"i" * 16
    assert answer.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_one_bad_partition_does_not_spoil_the_others(client: RawClient, topic: str) -> None:
    parts = [PartitionProduceData(0, GOOD), PartitionProduceData(1, GOOD[:-1]), PartitionProduceData(9, GOOD)]
    (answer,) = client.ask(
        ProduceRequest(None, -1, 10_000, [TopicProduceData(topic, partition_data=parts)]), 9
    ).responses
    codes = {part.index: part.error_code for part in answer.partition_responses}
    assert codes == {0: 0, 1: ErrorCode.INVALID_RECORD, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_acks_0_has_no_reply_and_an_error_closes(broker: WatchedBroker, client: RawClient, topic: str) -> None:
    client.send_request(produce_request(topic, GOOD, acks=0), 9)
    assert client.ask(MetadataRequest([]), 12).brokers, "the next reply is to the next request"
    client.send_request(produce_request(topic, GOOD[:-1], acks=0), 9)
    assert client.is_closed_by_peer()
    broker.expect_one_line(client.name, "acks=0")


@pytest.mark.parametrize("timeout_ms", [-1, 0, INT32_MAX])
def test_any_timeout_is_survived(client: RawClient, topic: str, timeout_ms: int) -> None:
    answer = produce(client, topic, GOOD, timeout_ms=timeout_ms)
    assert answer.error_code in (0, ErrorCode.REQUEST_TIMED_OUT)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_compressed_garbage_is_stored_and_our_reader_fails_cleanly(client: RawClient, topic: str, codec: int) -> None:
    """The broker opens no batch on a plain topic: what is inside is between producer and consumer."""
    packed = good_batch(b"v" * 1000, codec=codec)
    garbage = sealed(parse_header(packed), bytes(range(256)) * 2)
    garbage = with_fields(garbage, batch_length=len(garbage) - 12)
    assert produce(client, topic, garbage).error_code == 0
    stored = bytes(fetch(client, topic).records)
    assert stored[61:] == garbage[61:]
    with pytest.raises(CorruptBatch):
        read_records(stored)


def test_a_compacted_topic_opens_its_batches(client: RawClient, topic: str) -> None:
    name = f"{topic}-compacted"
    configs = [CreatableTopicConfig("cleanup.policy", "compact")]
    assert client.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1, configs=configs)]), 7).topics[0].error_code == 0
    packed = good_batch(b"v" * 1000, codec=1)
    garbage = with_fields(sealed(parse_header(packed), b"\x1f\x8b garbage"), batch_length=61 - 12 + 10)
    assert produce(client, name, garbage).error_code == ErrorCode.CORRUPT_MESSAGE
    lying = with_fields(good_batch(b"v", codec=1), record_count=1000, last_offset_delta=999)
    assert produce(client, name, lying).error_code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", [1, 4])
def test_our_consumer_says_what_is_wrong_and_ends(
    broker: WatchedBroker, client: RawClient, topic: str, codec: int
) -> None:
    packed = good_batch(b"v" * 1000, codec=codec)
    garbage = with_fields(sealed(parse_header(packed), bytes(500)), batch_length=61 - 12 + 500)
    assert produce(client, topic, garbage).error_code == 0
    words = ["consume", topic, "-p", "0", "-n", "1", "--bootstrap", broker.bootstrap]
    ran = subprocess.run([sys.executable, "-m", "headrace.cli", *words], capture_output=True, timeout=60)
    assert ran.returncode != 0
    assert ran.stdout == b""
    assert b"Traceback" not in ran.stderr
    assert ran.stderr
