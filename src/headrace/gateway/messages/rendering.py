"""Batches to what a GET shows of them, up to so many messages and bytes.

Most records are text without headers, and their numbers are short: these are read and rendered in one loop. To read them
first, as `wire.records` does, costs nearly twice as much. The first record that is anything else sends the rest of its
batch that way.
"""

from typing import Any

from headrace.gateway.messages.outgoing import Encoding, render_record
from headrace.wire.batch import BatchHeader, Bytes, CorruptBatch, crc_ok
from headrace.wire.records import Record, iter_unpacked, unpacked
from headrace.wire.varint import read_varint

_OPENING = b"{["
# As much as stays in the caches of a core while it is read.
RENDERED_WINDOW_BYTES = 128 << 10
# Numbers below take two bytes.
NUMBERS_MAX = 8192


class Rendering:
    def __init__(self, encoding: Encoding, count_max: int, bytes_max: int) -> None:
        self.messages: list[dict[str, Any]] = []
        self.size = 0
        self._encoding = encoding
        self._is_text = encoding in ("auto", "text")
        # What may be JSON is for `render_record`; as text it is text like any other.
        self._special = _OPENING if encoding == "auto" else b""
        self._count_max = count_max
        self._bytes_max = bytes_max

    @property
    def is_full(self) -> bool:
        return len(self.messages) >= self._count_max or self.size >= self._bytes_max

    @property
    def next_offset(self) -> int:
        """After the last message; there is one."""
        offset: int = self.messages[-1]["offset"]
        return offset + 1

    def add(self, header: BatchHeader, batch: memoryview, first_offset: int) -> None:
        """CorruptBatch if it is not what was written."""
        if not crc_ok(batch, 0, len(batch)):
            raise CorruptBatch(f"the batch at offset {header.base_offset} has another CRC than its bytes")
        count, body = len(self.messages), unpacked(header, batch)
        if self._is_text and self._add_texts(header, body, first_offset):
            return
        first_offset = self.next_offset if len(self.messages) > count else first_offset
        for record in iter_unpacked(header, body, first_offset):
            self.messages.append(render_record(record, self._encoding))
            self.size += _size(record)
            if self.is_full:
                return

    def _add_texts(self, header: BatchHeader, body: Bytes, first_offset: int) -> bool:
        """False when there is more in it than `_add_window` understands."""
        count = header.record_count
        if header.is_log_append_time or header.last_offset_delta != count - 1:
            return False
        delta = min(max(0, first_offset - header.base_offset), count)
        try:
            pos = _position(body, delta)
        except IndexError:
            return False
        while delta < min(count, NUMBERS_MAX) and not self.is_full:
            seen, used = self._add_window(bytes(body[pos : pos + RENDERED_WINDOW_BYTES]), header, delta)
            if not seen:
                return False
            delta, pos = delta + seen, pos + used
        return delta == count or self.is_full

    def _add_window(self, body: bytes, header: BatchHeader, first: int) -> tuple[int, int]:
        """Records up to the first that is not plain, or not whole: how many, and the bytes they take.

        Numbers come from the bytes, and texts from a text with a character for each of them (Latin-1, as ASCII is): to cut
        bytes and decode them would be two copies. A number that is odd is below zero.
        """
        text, special, no_headers = body.decode("latin-1"), self._special, dict[str, Any]()
        base_offset, base_timestamp = header.base_offset, header.base_timestamp
        later, timestamp = 0, base_timestamp
        room, size, size_max = self._count_max - len(self.messages), self.size, self._bytes_max
        add, start, before = self.messages.append, 0, len(self.messages)
        # Its number within the batch takes as many bytes for all of these.
        to_key, number_end = (1 + 1, 64) if first < 64 else (2 + 1, NUMBERS_MAX)
        try:
            for delta in range(first, min(header.record_count, first + room, number_end)):
                # Past its length and attributes.
                number = body[start]
                if number < 128:
                    pos = start + 2
                    next_start = pos - 1 + (number >> 1)
                else:
                    high = body[start + 1]
                    if high > 127:
                        break
                    pos = start + 3
                    next_start = pos - 1 + (number - 128 + (high << 7) >> 1)
                number = body[pos]
                if number < 128:
                    pos += 1
                else:
                    high = body[pos + 1]
                    if high > 127:
                        break
                    number += (high << 7) - 128
                    pos += 2
                if number != later:
                    # Most are as late as the one before.
                    later, timestamp = number, base_timestamp + ((number >> 1) ^ -(number & 1))
                # Its number is what its place says.
                pos += to_key
                number = body[pos - 1]
                key_size = number >> 1
                key_end = pos + key_size
                if number == 1:
                    key = None
                elif number & 129 or body[pos] in special:
                    break
                else:
                    key = text[pos:key_end]
                    if not key.isascii():
                        key = body[pos:key_end].decode()
                number = body[key_end]
                if number < 128:
                    pos = key_end + 1
                else:
                    high = body[key_end + 1]
                    if high > 127:
                        break
                    number += (high << 7) - 128
                    pos = key_end + 2
                end = pos + (number >> 1)
                # A zero after it, and no more: no headers.
                if body[end] or end + 1 != next_start or number & 1 or body[pos] in special:
                    break
                value = text[pos:end]
                if not value.isascii():
                    value = body[pos:end].decode()
                offset = base_offset + delta
                add({"offset": offset, "key": key, "value": value, "timestamp": timestamp, "headers": no_headers})
                start = next_start
                size += key_size + end - pos
                if size >= size_max:
                    break
        except (IndexError, UnicodeDecodeError):
            pass
        self.size = size
        return len(self.messages) - before, start


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.value or b"") + len(record.key or b"") + headers


def _position(body: Bytes, count: int) -> int:
    """After so many records, by their lengths alone."""
    pos = 0
    for _ in range(count):
        number = body[pos]
        if number < 128:
            pos += 1 + (number >> 1)
        elif (high := body[pos + 1]) < 128:
            pos += 2 + (number - 128 + (high << 7) >> 1)
        else:
            length, pos = read_varint(body, pos)
            pos += length
    return pos
