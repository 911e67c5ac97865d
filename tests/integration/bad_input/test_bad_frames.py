"""Bytes that are no request: the connection is closed, one log line names the peer, nobody else notices."""

import struct

import pytest
from watched_broker import WatchedBroker

from clients.raw import RawClient
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.metadata import MetadataRequest

CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(180)


def header(key: int, version: int, correlation_id: int = 7, client_id: bytes | None = b"raw") -> bytes:
    length = -1 if client_id is None else len(client_id)
    return struct.pack(">hhih", key, version, correlation_id, length) + (client_id or b"")


BAD_STREAMS = {
    "size -1": (b"\xff\xff\xff\xff", "frame of -1 bytes"),
    "size 0": (b"\0\0\0\0", "frame of 0 bytes"),
    "size 2^31-1": (b"\x7f\xff\xff\xff", "frame of 2147483647 bytes"),
    "size just over the limit": (struct.pack(">i", (100 << 20) + 1), "socket.request.max.bytes"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "this is HTTP"),
    "TLS": (CLIENT_HELLO, "this is TLS"),
    "noise": (bytes(range(255, 191, -1)), "frame of"),
}

BAD_REQUESTS = {
    "an empty header": (b"\0", "malformed request header"),
    "half a header": (struct.pack(">hh", 3, 9), "malformed request header"),
    "client id past the end": (struct.pack(">hhih", 3, 1, 1, 500) + b"abc", "cut short"),
    "client id of length -2": (struct.pack(">hhih", 3, 1, 1, -2), "client id of length -2"),
    "client id that is no text": (header(3, 1, client_id=b"\xff\xfe"), "malformed request header"),
    "tags past the end": (header(3, 12) + b"\x05", "malformed request header"),
    "unknown api": (header(999, 0), "api 999 version 0 is not offered here"),
    "negative api": (header(-1, 0), "api -1 version 0 is not offered here"),
    "broker-internal api": (header(4, 0), "api 4 version 0 is not offered here"),
    "version too new": (header(3, 99) + b"\0", "api 3 version 99 is not offered here"),
    "version too old": (header(1, 0), "api 1 version 0 is not offered here"),
    "negative version": (header(3, -1), "api 3 version -1 is not offered here"),
    "Produce 2, advertised for old clients only": (header(0, 2), "api 0 version 2 is not offered here"),
    "no body": (header(0, 3), "ProduceRequest v3 is malformed"),
    "more topics than bytes": (header(3, 1) + struct.pack(">i", 1 << 30), "counts more elements"),
    "a negative count": (header(3, 1) + struct.pack(">i", -7), "negative"),
    "a name past the end": (header(3, 1) + struct.pack(">ih", 1, 100) + b"abc", "cut short"),
    "a name that is no text": (header(3, 1) + struct.pack(">ih", 1, 2) + b"\xc3\x28", "malformed"),
    "a varint without end": (header(3, 12) + b"\0" + b"\xff" * 20, "longer than 5 bytes"),
    "records past the end": (
        header(0, 7) + struct.pack(">hhiih1sii", -1, 1, 1000, 1, 1, b"t", 1, 0) + struct.pack(">i", 1 << 20),
        "ProduceRequest",
    ),
}


@pytest.mark.parametrize(("content", "cause"), BAD_STREAMS.values(), ids=BAD_STREAMS)
@pytest.mark.parametrize("greeted", [False, True], ids=["at once", "after ApiVersions"])
def test_bytes_that_are_no_frame(
    broker: WatchedBroker, client: RawClient, content: bytes, cause: str, greeted: bool
) -> None:
    if greeted:
        client.greet()
    client.send(content)
    assert client.is_closed_by_peer()
    broker.expect_one_line(client.name, cause)


@pytest.mark.parametrize(("content", "cause"), BAD_REQUESTS.values(), ids=BAD_REQUESTS)
@pytest.mark.parametrize("greeted", [False, True], ids=["at once", "after ApiVersions"])
def test_a_frame_that_is_no_request(
    broker: WatchedBroker, client: RawClient, content: bytes, cause: str, greeted: bool
) -> None:
    if greeted:
        client.greet()
    client.send_frame(content)
    assert client.is_closed_by_peer()
    broker.expect_one_line(client.name, cause)


def test_replies_to_what_came_before_the_garbage_may_be_lost_but_are_not_garbled(client: RawClient) -> None:
    sent = client.send_request(ApiVersionsRequest("raw", "1"), 3)
    client.send(b"\xff\xff\xff\xff")
    try:
        assert client.receive(18, 3)[0] == sent
    except ConnectionError:
        return
    assert client.is_closed_by_peer()


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(client: RawClient) -> None:
    client.send_frame(header(18, 77) + b"\0whatever this version may mean")
    _, response = client.receive(18, 0)
    assert response.error_code == 35
    assert [(each.api_key, each.min_version, each.max_version) for each in response.api_keys] == [(18, 0, 4)]
    client.greet()


@pytest.mark.parametrize("software", ["", "-dash-first", "spaces in it", "\x00"])
def test_a_bad_software_name_is_refused_and_the_connection_stays(client: RawClient, software: str) -> None:
    assert client.ask(ApiVersionsRequest(software, "1"), 3).error_code == 42
    client.greet()


def test_a_null_client_id_unknown_tags_and_trailing_bytes_are_fine(client: RawClient) -> None:
    unknown_tag = b"\x01\x63\x03abc"
    client.send_frame(header(3, 12, 41, None) + unknown_tag + b"\x01\x01\x00" + unknown_tag + b"trailing")
    correlation_id, response = client.receive(3, 12)
    assert correlation_id == 41
    assert response.topics == []


def test_a_frame_that_ends_too_early_is_no_request(broker: WatchedBroker, client: RawClient) -> None:
    client.greet()
    client.send(struct.pack(">i", 1000) + header(3, 1))
    client.socket.shutdown(1)
    assert client.is_closed_by_peer()
    with RawClient(broker.bootstrap) as other:
        assert other.ask(MetadataRequest([]), 12).brokers
