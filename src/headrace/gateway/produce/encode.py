"""Messages to the bytes of a record batch: one loop, since this is where a large POST spends its time."""

from collections.abc import Sequence
from typing import NamedTuple

from crc32c import crc32c

from headrace.gateway.produce.outgoing import Headers, Outgoing
from headrace.wire.batch import CRC_START, HEADER, HEADER_SIZE, LENGTH_END, MAGIC
from headrace.wire.compression import compress
from headrace.wire.varint import zigzag

_KNOWN = 1 << 13
_NUMBERS = [zigzag(number) for number in range(_KNOWN)]
_NULL = zigzag(-1)
_CRC_SIZE = 4


class Identity(NamedTuple):
    """Whose batch it is: what lets a broker tell one that is sent twice."""

    producer_id: int = -1
    producer_epoch: int = -1


NOBODY = Identity()


class RecordBytes:
    """Records of one batch, added until it is full."""

    def __init__(self, now_ms: int, bytes_max: int) -> None:
        self._now_ms = now_ms
        self._room = bytes_max - HEADER_SIZE
        self._parts: list[bytes] = []
        self._base_ms = self._latest_ms = -1
        self.count = 0

    def add(self, messages: Sequence[Outgoing]) -> int:
        """How many there was room for. The first of a batch always has it: the broker says if it is too large."""
        numbers, add, room, first = _NUMBERS, self._parts.extend, self._room, self.count
        for delta, (value, key, headers, _, timestamp) in enumerate(messages, first):
            sized_key = _NULL if key is None else _number(len(key)) + key
            value_size = _NULL if value is None else numbers[len(value)] if len(value) < _KNOWN else zigzag(len(value))
            head = b"\0" + self._time(timestamp) + (numbers[delta] if delta < _KNOWN else zigzag(delta))
            tail = _encode_headers(headers) if headers else b"\0"
            size = len(head) + len(sized_key) + len(value_size) + len(value or b"") + len(tail)
            length = numbers[size] if size < _KNOWN else zigzag(size)
            room -= size + len(length)
            if room < 0 and delta:
                break
            self.count += 1
            add((length, head, sized_key, value_size, value or b"", tail))
        self._room = room
        return self.count - first

    def _time(self, timestamp: int) -> bytes:
        timestamp = timestamp or self._now_ms
        if self._base_ms < 0:
            self._base_ms = timestamp
        if timestamp > self._latest_ms:
            self._latest_ms = timestamp
        return zigzag(timestamp - self._base_ms)

    def sealed(self, identity: Identity, sequence: int, codec: int) -> bytes:
        payload = b"".join(self._parts)
        if codec:
            payload = compress(codec, payload)
        head = bytearray(
            HEADER.pack(
                0,
                HEADER_SIZE - LENGTH_END + len(payload),
                -1,
                MAGIC,
                0,
                codec,
                self.count - 1,
                self._base_ms,
                self._latest_ms,
                *identity,
                sequence if identity.producer_id >= 0 else -1,
                self.count,
            )
        )
        crc = crc32c(payload, crc32c(memoryview(head)[CRC_START:]))
        head[CRC_START - _CRC_SIZE : CRC_START] = crc.to_bytes(_CRC_SIZE, "big")
        return b"".join((head, payload))


def _number(number: int) -> bytes:
    return _NUMBERS[number] if number < _KNOWN else zigzag(number)


def _encode_headers(headers: Headers) -> bytes:
    parts = [_number(len(headers))]
    for name, value in headers:
        data = name.encode()
        parts += (_number(len(data)), data)
        parts += (_NULL,) if value is None else (_number(len(value)), value)
    return b"".join(parts)
