"""The producer's parts that need no broker: partitions of keys, bytes of batches, and what a queue does with answers."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_metadata import PartitionMetadata, TopicMetadata
from headrace.client.metadata_cache import Leader
from headrace.client.produce.encode import RecordBytes
from headrace.client.produce.outgoing import Delivered, Outgoing
from headrace.client.produce.partitioner import _hashes, key_hash, partitions_of
from headrace.client.produce.producer import ALL, BatchingProducer
from headrace.client.produce.queue import QUEUED_BATCH_BYTES_MAX, PartitionQueue
from headrace.client.produce.receipt import Chunk, Receipt
from headrace.client.produce.undelivered import unreachable
from headrace.client.writer_client import WriterClient
from headrace.wire.batch import Identity, crc_ok, parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.compression import CODEC_NAMES
from headrace.wire.messages.produce import PartitionProduceResponse
from headrace.wire.records import read_records

ID = TopicPartition("t", 3)
US, OTHERS = Identity(7, 0), Identity(8, 0)
NOW_MS = 1_700_000_000_000
TOO_LARGE, INVALID = (Refused(code) for code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD))


@pytest.mark.parametrize(
    ("key", "hash"),
    [
        # Known from the tests of Kafka's own clients.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_a_key_goes_where_the_java_client_puts_it(key: bytes, hash: int) -> None:
    assert key_hash(key) == hash & 0x7FFFFFFF


def test_long_keys_are_not_remembered() -> None:
    partitions_of([Outgoing(b"v", key) for key in (b"short", b"long" * 1000)], 3, 0)
    assert b"short" in _hashes and b"long" * 1000 not in _hashes


@pytest.mark.parametrize("codec", range(len(CODEC_NAMES)))
def test_a_batch_is_read_as_it_was_written(codec: int) -> None:
    messages = [
        Outgoing(b"v", b"k", [("a", b"1"), ("a", None), ("ü", b"")], 3, NOW_MS - 5),
        Outgoing(None, b"x" * 9000),
        Outgoing(b"y" * 20_000, None, None, -1, NOW_MS + 70_000),
        Outgoing(b"", b""),
    ]
    records = RecordBytes(NOW_MS, QUEUED_BATCH_BYTES_MAX)
    assert records.add(messages) == 4
    batch = records.sealed(US, 11, codec)
    header = parse_header(batch)
    assert crc_ok(batch, 0, len(batch)) and header.size == len(batch)
    assert (header.producer_id, header.base_sequence, header.max_timestamp) == (7, 11, NOW_MS + 70_000)
    assert [(each.value, each.key, list(each.headers), each.timestamp) for each in read_records(batch)] == [
        (each.value, each.key, list(each.headers or ()), each.timestamp or NOW_MS) for each in messages
    ]


def in_loop(test: Callable[[], None]) -> Callable[[], None]:
    async def run() -> None:
        test()

    def wrapped() -> None:
        asyncio.run(run())

    wrapped.__name__ = test.__name__
    return wrapped


def queued(queue: PartitionQueue, *messages: Outgoing, deadline: float = 10.0) -> Receipt:
    receipt = Receipt(len(messages))
    queue.add(Chunk(receipt, deadline, list(messages), list(range(len(messages)))))
    return receipt


def values(batch: Any) -> list[bytes | None]:
    return [each.value for each in read_records(batch.data)]


@in_loop
def test_callers_share_a_batch_and_each_has_its_offsets() -> None:
    queue = PartitionQueue(ID, 0)
    one, two = queued(queue, Outgoing(b"a")), queued(queue, Outgoing(b"b"), Outgoing(b"c", timestamp=5))
    assert values(queue.batch(US, NOW_MS)) == [b"a", b"b", b"c"]
    queue.on_stored(40, -1)
    assert one.results() == [Delivered(3, 40, NOW_MS)]
    assert two.results() == [Delivered(3, 41, NOW_MS), Delivered(3, 42, 5)]
    assert one.settled.done() and two.settled.done() and not queue
    queued(queue, Outgoing(b"d"))
    assert parse_header(queue.batch(US, NOW_MS).data).base_sequence == 3


@in_loop
def test_what_does_not_fit_waits_for_the_next_batch() -> None:
    queue = PartitionQueue(ID, 0)
    receipt = queued(
        queue, *[Outgoing(bytes(QUEUED_BATCH_BYTES_MAX // 2 - 1000))] * 3, Outgoing(bytes(2 * QUEUED_BATCH_BYTES_MAX))
    )
    sizes = []
    while queue:
        sizes.append(len(values(queue.batch(US, NOW_MS))))
        queue.on_stored(sum(sizes[:-1]), 9)
    assert sizes == [2, 1, 1]
    assert receipt.results() == [Delivered(3, offset, 9) for offset in range(4)]


@in_loop
def test_a_batch_that_nobody_takes_again_has_an_end() -> None:
    """Its leader is gone and none follows: there is no answer any more that could end it."""
    queue = PartitionQueue(ID, 0)
    sent = queued(queue, Outgoing(b"a"))
    queue.batch(US, NOW_MS)
    queue.on_unsettled(Refused(ErrorCode.NOT_ENOUGH_REPLICAS), now=1.0)
    queue.expire(9.0)
    assert queue and not sent.settled.done()
    queue.expire(10.0)
    (error,) = sent.results()
    assert isinstance(error, Refused) and error.code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert not queue and queue.identity is None, "it may be stored: whoever comes next is somebody new"


@in_loop
def test_a_batch_whose_fate_is_unknown_is_sent_again_as_it_was() -> None:
    queue = PartitionQueue(ID, 0)
    receipt = queued(queue, Outgoing(b"a"), deadline=10.0)
    first = queue.batch(US, NOW_MS).data
    queue.on_unsettled(unreachable("gone"), 9.0)
    queued(queue, Outgoing(b"b"))
    assert queue.not_before > 9.0
    assert queue.batch(OTHERS, NOW_MS + 5).data is first
    queue.on_unsettled(unreachable("gone"), 10.0)
    assert [error.message for _, error in receipt.failures] == ["gone"]
    # It may be stored: its sequence must never stand for something else.
    assert queue.needs_other(US) and not queue.needs_other(OTHERS)
    header = parse_header(queue.batch(OTHERS, NOW_MS).data)
    assert (header.producer_id, header.base_sequence) == (8, 0)


@in_loop
def test_one_that_is_refused_for_what_it_holds_takes_no_other_caller_with_it() -> None:
    queue = PartitionQueue(ID, 0)
    good, bad, last = (queued(queue, Outgoing(value)) for value in (b"good", b"bad", b"last"))
    while queue:
        if b"bad" in values(queue.batch(US, NOW_MS)):
            queue.on_refused(INVALID)
        else:
            queue.on_stored(0, -1)
    assert [type(each.results()[0]) for each in (good, bad, last)] == [Delivered, Refused, Delivered]


@in_loop
def test_a_batch_that_is_too_large_is_halved_until_the_one_is_found() -> None:
    queue = PartitionQueue(ID, 0)
    receipt = queued(queue, *[Outgoing(bytes([number])) for number in range(10)])
    stored: list[bytes | None] = []
    while queue:
        sent = values(queue.batch(US, NOW_MS))
        if len(sent) > 3 or b"\x06" in sent:
            queue.on_refused(TOO_LARGE)
        else:
            queue.on_stored(len(stored), -1)
            stored += sent
    assert stored == [bytes([number]) for number in range(10) if number != 6]
    assert [index for index, each in enumerate(receipt.results()) if isinstance(each, Refused)] == [6]


@in_loop
def test_a_log_that_forgot_us_is_written_to_as_somebody_new() -> None:
    queue = PartitionQueue(ID, 0)
    queued(queue, Outgoing(b"a"))
    queue.batch(US, NOW_MS)
    queue.on_stored(0, -1)
    receipt = queued(queue, Outgoing(b"b"))
    queue.batch(US, NOW_MS)
    queue.on_unknown_identity(Refused(ErrorCode.UNKNOWN_PRODUCER_ID))
    assert queue.needs_other(US)
    header = parse_header(queue.batch(OTHERS, NOW_MS).data)
    assert (header.producer_id, header.base_sequence) == (8, 0)
    # A broker that did not look at it has not stored it.
    queue.on_unsettled(Refused(ErrorCode.NOT_ENOUGH_REPLICAS), 0.0)
    queue.batch(OTHERS, NOW_MS)
    queue.on_unknown_identity(Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert queue and queue.needs_other(OTHERS)
    queue.batch(US, NOW_MS)
    # Sent for the second time it may be there already: to begin anew could store it twice.
    queue.on_unsettled(unreachable("gone"), 0.0)
    queue.batch(OTHERS, NOW_MS)
    queue.on_unknown_identity(Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert not queue and isinstance(receipt.results()[0], Refused)


@in_loop
def test_what_waits_for_too_long_is_given_up() -> None:
    queue = PartitionQueue(ID, 0)
    early, late = queued(queue, Outgoing(b"a"), deadline=1.0), queued(queue, Outgoing(b"b"), deadline=3.0)
    queue.expire(2.0)
    assert isinstance(early.results()[0], Refused) and not late.settled.done()
    assert values(queue.batch(US, NOW_MS)) == [b"b"]


class _TooFew(WriterClient):
    """A leader that has too few replicas, for ever."""

    def known_topic(self, name: str) -> TopicMetadata:
        return TopicMetadata(name, b"", False, {0: PartitionMetadata(1, 0, (1,), (1,))})

    def known_leader(self, id: TopicPartition) -> Leader:
        return Leader(("nowhere", 1), 0)

    async def producer_id(self, seconds_max: float) -> Identity:
        return US

    async def produce_once(self, *_: object) -> dict[int, PartitionProduceResponse]:
        return {0: PartitionProduceResponse(0, ErrorCode.NOT_ENOUGH_REPLICAS)}


class _EarlyLoop(asyncio.SelectorEventLoop):
    """As uvloop does, which counts in milliseconds: a timer may ring before its time, if not by so much."""

    def call_at(self, when: float, *arguments: Any, **named: Any) -> asyncio.TimerHandle:
        return super().call_at(when - 0.005, *arguments, **named)


def test_what_is_refused_again_and_again_is_given_up_in_time() -> None:
    async def refused() -> Receipt:
        producer = BatchingProducer(_TooFew("nowhere:1", client_id="test"), acks=ALL, seconds_max=0.5, codec=0)
        async with asyncio.timeout(10):
            return await producer.send_all("t", [Outgoing(b"a")])

    with asyncio.Runner(loop_factory=_EarlyLoop) as runner:
        ((_, error),) = runner.run(refused()).failures
    assert error.code == ErrorCode.NOT_ENOUGH_REPLICAS
