"""Messages to bytes and back: the two functions everything else calls.

    request = decode(ProduceRequest, 9, frame, header.body_pos)
    chunks = encode(response, 9)

The code for a message and version is generated at its first use (see `compile_decode`, `compile_encode`) and kept.
Decoding raises PeerError and nothing else, whatever the bytes; trailing bytes are ignored, as Kafka does (librdkafka
sends some). What it allocates is bounded by the length of the buffer.
"""

from collections.abc import Sized
from struct import error as StructError
from typing import Any, TypeVar

from headrace.base.errors import PeerError
from headrace.wire.compile_decode import compile_decoder
from headrace.wire.compile_encode import compile_encoder
from headrace.wire.schema import Message

M = TypeVar("M", bound=Message)


def decode(cls: type[M], version: int, buf: bytes | bytearray | memoryview, pos: int = 0) -> M:
    decoder = cls.DECODERS.get(version) or compile_decoder(cls, version)
    try:
        message: M = decoder(buf, pos, len(buf))
    except (StructError, IndexError, UnicodeDecodeError) as error:
        raise PeerError(f"{cls.__name__} v{version} is malformed: {error}") from error
    return message


def encode(message: Message, version: int) -> list[Any]:
    """The message as chunks to send in order: bytes, and between them what was put in records fields, as it is."""
    encoder = message.ENCODERS.get(version) or compile_encoder(type(message), version)
    try:
        return encoder(message)
    except (StructError, AttributeError, TypeError) as error:
        raise ValueError(f"{type(message).__name__} v{version} cannot be encoded: {error}") from error


def encoded(message: Message, version: int) -> bytes:
    """The message as one bytes object; only for messages whose records are bytes."""
    return b"".join(encode(message, version))


def size_of(chunks: list[Sized]) -> int:
    return sum(map(len, chunks))
