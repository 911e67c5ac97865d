"""Messages to the bytes of a record batch: one loop, since this is where a large POST spends its time."""

from collections.abc import Sequence
from itertools import repeat

from headrace.client.produce.outgoing import Headers, Outgoing
from headrace.client.produce.texts import SIZE_MAX, Texts
from headrace.wire.batch import HEADER_SIZE, Identity, produced_header, seal
from headrace.wire.compression import compress
from headrace.wire.varint import zigzag

_KNOWN = 1 << 14
_NUMBERS = [zigzag(number) for number in range(_KNOWN)]
_NUMBER_TEXTS = [number.decode("latin-1") for number in _NUMBERS]
_NULL = zigzag(-1)
_NULL_TEXT = _NULL.decode("latin-1")
_NO_HEADERS = "\0"
# The bytes of a record beside its key and value: no number here is longer than three bytes, but its time may be.
_AROUND_MAX = 1 + 10 + 4 * 3 + 1
_NO_HEADER = bytes(HEADER_SIZE)


class RecordBytes:
    """Records of one batch, added until it is full."""

    def __init__(self, now_ms: int, bytes_max: int) -> None:
        self._now_ms = now_ms
        self._room = bytes_max - HEADER_SIZE
        self._parts: list[bytes | memoryview] = []
        self._base_ms = self._latest_ms = -1
        # The head of a record of this moment: its attributes, and its time counted from the first one's.
        self._now_head = b""
        self.count = 0

    def add(self, messages: Sequence[Outgoing]) -> int:
        """Adds messages; returns how many fitted. The first of a batch always fits: the broker says if it is too large."""
        if self.count == 0:
            self._base_ms = messages[0].timestamp or self._now_ms
            self._now_head = b"\0" + zigzag(self._now_ms - self._base_ms)
        first = self.count
        if isinstance(messages, Texts):
            self._add_texts(messages[: self._room_for(messages)])
        else:
            self._add_each(messages)
        taken = self.count - first
        if taken:
            self._latest_ms = max(self._latest_ms, self._latest(messages[:taken]))
        return taken

    def _add_texts(self, messages: Texts) -> None:
        """Values go as they are into the one text that all become; made for each is only what stands before it."""
        first, self.count = self.count, self.count + len(messages)
        numbers, head = _NUMBER_TEXTS, self._now_head.decode("latin-1")
        if messages.keys is None:
            keys = [_NULL_TEXT] * len(messages)
        else:
            keys = [f"{numbers[len(key)]}{key}" for key in messages.keys]
        around = len(head) + len(_NO_HEADERS)
        sizes = [numbers[size] for size in messages.sizes]
        columns = zip(numbers[first : self.count], keys, sizes, messages.sizes, strict=True)
        parts = [""] * (2 * len(messages))
        # The end of a record stands before the next one.
        parts[0::2] = [
            f"{_NO_HEADERS}{numbers[around + len(number) + len(key) + len(value) + size]}{head}{number}{key}{value}"
            for number, key, value, size in columns
        ]
        parts[1::2] = messages.values
        parts.append(_NO_HEADERS)
        records = memoryview("".join(parts).encode("latin-1"))[len(_NO_HEADERS) :]
        self._parts.append(records)
        self._room -= len(records)

    def _room_for(self, messages: Texts) -> int:
        """The number of messages that fit if each has the largest numbers. The first of a batch always has room."""
        most = min(len(messages), max(0, _KNOWN - self.count))
        room = self._room - len(messages) * _AROUND_MAX
        if sum(messages.sizes) + sum(map(len, messages.keys or ())) <= room:
            return most
        room = self._room
        for count, (size, key) in enumerate(zip(messages.sizes, messages.keys or repeat(""), strict=False)):
            room -= size + len(key) + _AROUND_MAX
            if room < 0:
                return min(most, count or (self.count == 0))
        return most

    def _add_each(self, messages: Sequence[Outgoing]) -> None:
        numbers, now_head, extend, room = _NUMBERS, self._now_head, self._parts.extend, self._room
        for delta, (value, key, headers, _, timestamp) in enumerate(messages, self.count):
            head = now_head if not timestamp else b"\0" + zigzag(timestamp - self._base_ms)
            number = numbers[delta] if delta < _KNOWN else zigzag(delta)
            if value is not None and key is not None and len(value) < SIZE_MAX and len(key) < SIZE_MAX and not headers:
                # Nearly all are so: no calls, and nothing is copied until the batch is sealed.
                key_size, value_size = numbers[len(key)], numbers[len(value)]
                size = len(head) + len(number) + len(key_size) + len(key) + len(value_size) + len(value) + 1
                record: tuple[bytes, ...] = (numbers[size], head, number, key_size, key, value_size, value, b"\0")
            else:
                tail = _sized(key) + _sized(value) + _encode_headers(headers or ())
                size = len(head) + len(number) + len(tail)
                record = (_number(size), head, number, tail)
            room -= size + len(record[0])
            if room < 0 and delta:
                break
            self.count += 1
            extend(record)
        self._room = room

    def _latest(self, messages: Sequence[Outgoing]) -> int:
        if isinstance(messages, Texts):
            return self._now_ms
        stamped = [message[4] for message in messages if message[4]]
        return max(stamped, default=-1) if len(stamped) == len(messages) else max(self._now_ms, *stamped, -1)

    def sealed(self, identity: Identity, sequence: int, codec: int) -> bytearray:
        if codec:
            batch = bytearray(_NO_HEADER + compress(codec, b"".join(self._parts)))
        else:
            batch = bytearray().join((_NO_HEADER, *self._parts))
        seal(batch, produced_header(identity, sequence, codec, self.count, self._base_ms, self._latest_ms))
        return batch


def _number(number: int) -> bytes:
    return _NUMBERS[number] if number < _KNOWN else zigzag(number)


def _sized(value: bytes | None) -> bytes:
    return _NULL if value is None else _number(len(value)) + value


def _encode_headers(headers: Headers) -> bytes:
    parts = [_number(len(headers))]
    for name, value in headers:
        parts += (_sized(name.encode()), _sized(value))
    return b"".join(parts)
