"""Headers around messages, with their two historic exceptions."""

import struct

import pytest
from kio.schema.request_header.v1.header import RequestHeader as KioHeaderV1
from kio.schema.request_header.v2.header import RequestHeader as KioHeaderV2
from kio_oracle import kio_encode

from headrace.base.errors import PeerError
from headrace.wire.apis import APIS
from headrace.wire.codec import decode, encoded
from headrace.wire.frame import (
    RequestHeader,
    parse_request_header,
    parse_response_header,
    request_frame,
    response_frame,
)
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from headrace.wire.messages.groups_classic import HeartbeatRequest, HeartbeatResponse


@pytest.mark.parametrize(("version", "kio"), [(3, KioHeaderV1), (4, KioHeaderV2)])
@pytest.mark.parametrize("client_id", [None, "", "rdkafka", "ü" * 200])
def test_request_header_is_what_kio_writes(version, kio, client_id):
    header = kio(request_api_key=12, request_api_version=version, correlation_id=99, client_id=client_id)
    data = kio_encode(header)
    assert parse_request_header(data + b"body") == RequestHeader(12, version, 99, client_id, len(data))


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("client_id", [None, "me"])
def test_request_frame_is_read_back(version, client_id):
    request = HeartbeatRequest(group_id="g", generation_id=5, member_id="m")
    frame = b"".join(request_frame(request, version, 77, client_id))
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    header = parse_request_header(memoryview(frame)[4:])
    assert header[:4] == (12, version, 77, client_id)
    assert decode(HeartbeatRequest, version, frame, header.body_pos + 4) == request


def test_header_tags_are_skipped():
    data = struct.pack(">hhih", 12, 4, 1, -1) + b"\x01\x09\x02xy" + b"body"
    assert parse_request_header(data).body_pos == len(data) - 4


def test_unknown_apis_and_versions_still_have_a_header():
    unknown = struct.pack(">hhih", 999, 4, 1, -1)
    assert parse_request_header(unknown) == RequestHeader(999, 4, 1, None, 10)
    future = struct.pack(">hhih", 18, 99, 1, 2) + b"me\x00" + b"any body"
    assert parse_request_header(future) == RequestHeader(18, 99, 1, "me", 13)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        struct.pack(">hhi", 12, 4, 1),
        struct.pack(">hhih", 12, 4, 1, 5) + b"abc",
        struct.pack(">hhih", 12, 3, 1, 5) + b"abc",
        struct.pack(">hhih", 12, 4, 1, -2) + b"\0",
        struct.pack(">hhih", 12, 4, 1, -1),
        struct.pack(">hhih", 12, 4, 1, -1) + b"\x01\x00\x7f",
        struct.pack(">hhih", 12, 4, 1, 1) + b"\xff\0",
    ],
)
def test_malformed_request_headers_are_refused(data):
    with pytest.raises(PeerError):
        parse_request_header(data)


def test_api_versions_responses_never_have_header_tags():
    for version in (0, 3, 4):
        body = encoded(ApiVersionsResponse(), version)
        frame = b"".join(response_frame(ApiVersionsResponse(), version, 7))
        assert frame == struct.pack(">ii", 4 + len(body), 7) + body
    assert parse_response_header(APIS[18], 3, frame, 4) == (7, 8)
    assert request_frame(ApiVersionsRequest(), 3, 7, None)[0][4:15] == struct.pack(">hhihB", 18, 3, 7, -1, 0)


@pytest.mark.parametrize(("version", "header"), [(3, b"\0\0\0\x07"), (4, b"\0\0\0\x07\0")])
def test_response_frame(version, header):
    response = HeartbeatResponse(throttle_time_ms=3, error_code=27)
    frame = b"".join(response_frame(response, version, 7))
    assert frame[4:].startswith(header)
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    assert parse_response_header(APIS[12], version, frame, 4) == (7, 4 + len(header))
    assert decode(HeartbeatResponse, version, frame, 4 + len(header)) == response


def test_response_frame_counts_the_records_it_passes_on():
    records = memoryview(bytes(100_000))
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)])])
    chunks = response_frame(response, 16, 1)
    assert chunks[1] is records
    assert struct.unpack_from(">i", chunks[0]) == (sum(map(len, chunks)) - 4,)


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b"\0\0\0\1", b"\0\0\0\1\x01\x05\x09"])
def test_malformed_response_headers_are_refused(data):
    with pytest.raises(PeerError):
        parse_response_header(APIS[12], 4, data)
