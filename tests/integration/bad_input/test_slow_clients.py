"""Clients that hold back: half a frame, a byte at a time, replies never read. Others are served meanwhile."""

import resource
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from watched_broker import WatchedBroker, watched

from clients.raw import RawClient
from clients.raw_records import fetch, fetch_request, good_batch, produce, produce_request
from eventually import until
from headrace.wire.frame import request_frame
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest

MANY = 10_000
# What the test process and the broker each need besides one descriptor for every connection.
SPARE_DESCRIPTORS = 500


def frame_of(request: object, version: int, correlation_id: int = 1) -> bytes:
    return b"".join(request_frame(request, version, correlation_id, "raw"))


def test_a_frame_that_comes_byte_by_byte_is_a_frame(broker: WatchedBroker, client: RawClient) -> None:
    for byte in frame_of(ApiVersionsRequest("raw", "1"), 3):
        client.send(bytes([byte]))
        # Long enough for the broker to see this byte alone; nothing is asserted about time.
        time.sleep(0.001)
    assert client.receive(18, 3)[1].error_code == 0


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 20])
def test_frames_cut_anywhere_are_put_together(client: RawClient, topic: str, cut: int) -> None:
    """Three frames in pieces that never end where a frame does."""
    stream = b"".join(frame_of(produce_request(topic, good_batch(bytes(5000))), 9, number) for number in range(3))
    pieces = [stream[at : at + 5003] for at in range(cut, len(stream), 5003)]
    for piece in [stream[:cut], *pieces]:
        client.send(piece)
        time.sleep(0.001)
    answered = [client.receive(0, 9) for _ in range(3)]
    assert [correlation_id for correlation_id, _ in answered] == [0, 1, 2]
    assert [body.responses[0].partition_responses[0].base_offset for _, body in answered] == [0, 1, 2]


def test_a_client_that_never_reads_is_not_read_from(broker: WatchedBroker, topic: str) -> None:
    """It asks for far more than it takes; the broker stops reading it and keeps little of what it owes."""
    value = bytes(500_000)
    with RawClient(broker.bootstrap) as writer:
        for _ in range(4):
            assert produce(writer, topic, good_batch(value)).error_code == 0
    before = broker.resident_bytes
    with RawClient(broker.bootstrap, receive_buffer=4096) as greedy:
        sent = send_until_held_back(greedy, frame_of(MetadataRequest(None), 12) + frame_of(fetch_request(topic), 12))
        assert sent > 0
        with RawClient(broker.bootstrap) as other:
            assert fetch(other, topic).error_code == 0
        assert broker.resident_bytes - before < 64 << 20


def test_replies_behind_a_waiting_one_are_bounded_too(broker: WatchedBroker, client: RawClient, topic: str) -> None:
    """A long poll holds back everything that was asked after it."""
    before = broker.resident_bytes
    client.send_request(fetch_request(topic, max_wait_ms=60_000), 12)
    send_until_held_back(client, frame_of(MetadataRequest(None), 12) * 100)
    assert broker.resident_bytes - before < 64 << 20
    with RawClient(broker.bootstrap) as other:
        assert produce(other, topic, good_batch()).error_code == 0
    assert client.receive(1, 12)[1].responses[0].partitions[0].high_watermark == 1


def send_until_held_back(client: RawClient, content: bytes, bytes_max: int = 256 << 20) -> int:
    """Bytes that were taken before the socket stayed full for a while."""
    client.socket.settimeout(1.0)
    sent = 0
    try:
        while sent < bytes_max:
            sent += client.socket.send(content)
    except TimeoutError:
        client.socket.settimeout(20.0)
        return sent
    raise AssertionError(f"{sent} bytes were taken from a client that does not read")


def test_replies_leave_in_the_order_of_requests(broker: WatchedBroker, client: RawClient, topic: str) -> None:
    """A long poll first, then quick ones, then one that creates a topic, then quick ones again."""
    poll = client.send_request(fetch_request(topic, max_wait_ms=500), 12)
    written = client.send_request(produce_request(topic, good_batch(), partition=1), 9)
    listed = client.send_request(MetadataRequest([]), 12)
    empty = client.send_request(fetch_request(topic, 1, partition=1), 12)
    greeted = client.send_request(ApiVersionsRequest("raw", "1"), 3)
    expected = [(1, 12, poll), (0, 9, written), (3, 12, listed), (1, 12, empty), (18, 3, greeted)]
    assert [client.receive(key, version)[0] for key, version, _ in expected] == [sent for _, _, sent in expected]


def test_many_requests_at_once_are_all_answered(client: RawClient, topic: str) -> None:
    requests = [produce_request(topic, good_batch(str(number).encode())) for number in range(3000)]
    client.send(b"".join(frame_of(request, 9, number) for number, request in enumerate(requests)))
    answers = [client.receive(0, 9) for _ in requests]
    assert [correlation_id for correlation_id, _ in answers] == list(range(3000))
    assert [body.responses[0].partition_responses[0].base_offset for _, body in answers] == list(range(3000))


def test_a_request_of_very_many_small_things_is_refused(broker: WatchedBroker, client: RawClient) -> None:
    """A few megabytes that would become gigabytes of objects, and a minute of work."""
    before = broker.resident_bytes
    client.send_frame(struct.pack(">hhihi", 3, 1, 1, -1, 3_000_000) + bytes(6_000_000))
    assert client.is_closed_by_peer()
    broker.expect_one_line(client.name, "more than 200000 elements")
    assert broker.resident_bytes - before < 64 << 20


def test_a_topic_named_often_is_described_once(client: RawClient, topic: str) -> None:
    response = client.ask(MetadataRequest([MetadataRequestTopic(name=topic)] * 10_000), 12)
    assert [each.name for each in response.topics] == [topic]


@pytest.fixture
def descriptors() -> Iterator[int]:
    """How many this process may open, after asking for as many as it can get."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_ten_thousand_connections_with_half_a_frame(descriptors: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """They cost memory for what they sent, not for what they announced; newcomers are served."""
    count = min(MANY, descriptors - SPARE_DESCRIPTORS)
    half = struct.pack(">i", 90 << 20) + bytes(46)
    with watched(tmp_path_factory.mktemp("many")) as broker, ExitStack() as open_connections:
        before = broker.resident_bytes
        for _ in range(count):
            open_connections.enter_context(RawClient(broker.bootstrap)).send(half)
        with RawClient(broker.bootstrap) as newcomer:
            newcomer.greet()
        until(lambda: broker.metric("headrace_connections_open"), lambda open: open == count)
        assert (broker.resident_bytes - before) / count < 16 << 10


def test_more_connections_than_there_are_descriptors_for(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The broker keeps descriptors for its files: who comes too late is refused, and those before are served."""
    with watched(tmp_path_factory.mktemp("few"), descriptors=400) as broker, ExitStack() as open_connections:
        first = open_connections.enter_context(RawClient(broker.bootstrap))
        first.greet()
        crowd = [open_connections.enter_context(RawClient(broker.bootstrap)) for _ in range(500)]
        assert crowd[-1].is_closed_by_peer()
        broker.expect_one_line(crowd[-1].name, "no descriptors are left (ulimit -n)")
        first.ask(CreateTopicsRequest([CreatableTopic("new", 20, 1)]), 7)
        for partition in range(20):
            assert produce(first, "new", good_batch(), partition=partition).error_code == 0
