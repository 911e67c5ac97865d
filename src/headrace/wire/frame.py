"""The frame around a message on a connection: its size and the request and response headers.

    frame    = int32 size, header, body
    request  = int16 api key, int16 version, int32 correlation id, nullable string client id [, tags]
    response = int32 correlation id [, tags]

The tags are there from the first flexible version of the API on. Two exceptions are older than the rule: the client id
keeps its two-byte length, and an ApiVersions response never has tags, since it must be readable before anyone knows
which versions the other side speaks. Cutting a stream into frames is the listener's work, not ours.
"""

from struct import Struct as Layout
from struct import error as StructError
from typing import Any, NamedTuple

from headrace.base.errors import PeerError
from headrace.wire.apis import APIS, Api
from headrace.wire.codec import encode, size_of
from headrace.wire.primitives import skip_tags
from headrace.wire.schema import VERSION_MAX, Request, Response

API_VERSIONS_KEY = 18

_FIRST_FLEXIBLE = {key: api.first_flexible for key, api in APIS.items()}
_FIRST_FLEXIBLE_RESPONSE = _FIRST_FLEXIBLE | {API_VERSIONS_KEY: VERSION_MAX + 1}

_REQUEST_START = Layout(">hhih")
_SIZE = Layout(">i")
_SIZE_AND_CORRELATION = Layout(">ii")
_SIZE_CORRELATION_AND_NO_TAGS = Layout(">iiB")


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_pos: int


def parse_request_header(buf: bytes | bytearray | memoryview, pos: int = 0) -> RequestHeader:
    """Reads the header after the size. An API we do not know gets a header too, for the log line that refuses it."""
    try:
        api_key, api_version, correlation_id, length = _REQUEST_START.unpack_from(buf, pos)
        pos += 10
        client_id = None
        if length >= 0:
            client_id = str(buf[pos : pos + length], "utf-8")
            pos += length
        elif length != -1:
            raise PeerError(f"client id of length {length}")
        if api_version >= _FIRST_FLEXIBLE.get(api_key, VERSION_MAX + 1):
            tags = buf[pos]
            pos += 1
            if tags:
                pos = skip_tags(buf, pos, tags)
    except (StructError, IndexError, UnicodeDecodeError) as error:
        raise PeerError(f"malformed request header: {error}") from error
    if pos > len(buf):
        raise PeerError("the request header is cut short")
    return RequestHeader(api_key, api_version, correlation_id, client_id, pos)


def response_frame(message: Response, version: int, correlation_id: int) -> list[Any]:
    """The whole frame, size first, as chunks to send in order; records stay chunks of their own."""
    chunks = encode(message, version)
    size = size_of(chunks)
    if version >= _FIRST_FLEXIBLE_RESPONSE[message.API_KEY]:
        chunks[0] = _SIZE_CORRELATION_AND_NO_TAGS.pack(size + 5, correlation_id, 0) + chunks[0]
    else:
        chunks[0] = _SIZE_AND_CORRELATION.pack(size + 4, correlation_id) + chunks[0]
    return chunks


def request_frame(message: Request, version: int, correlation_id: int, client_id: str | None) -> list[Any]:
    """The client's side: the whole frame, size first."""
    name = (client_id or "").encode()
    length = -1 if client_id is None else len(name)
    header = _REQUEST_START.pack(message.API_KEY, version, correlation_id, length) + name
    if version >= message.FLEXIBLE:
        header += b"\0"
    chunks = encode(message, version)
    chunks[0] = _SIZE.pack(len(header) + size_of(chunks)) + header + chunks[0]
    return chunks


def parse_response_header(api: Api, version: int, buf: bytes | bytearray | memoryview, pos: int = 0) -> tuple[int, int]:
    """The client's side: the correlation id, and where the body starts."""
    try:
        (correlation_id,) = _SIZE.unpack_from(buf, pos)
        pos += 4
        if version >= _FIRST_FLEXIBLE_RESPONSE[api.key]:
            pos = skip_tags(buf, pos + 1, buf[pos])
    except (StructError, IndexError) as error:
        raise PeerError(f"malformed response header: {error}") from error
    if pos > len(buf):
        raise PeerError("the response header is cut short")
    return correlation_id, pos
