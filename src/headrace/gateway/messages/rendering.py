"""Batches to what a GET shows of them, up to so many messages and bytes.

Most records are text without headers, and their numbers are short: these are read and rendered in one loop. To read them
first, as `wire.records` does, costs nearly twice as much. The first record that is anything else sends the rest of its
batch that way.
"""

from typing import Any

from headrace.gateway.messages.outgoing import Encoding, render_record
from headrace.wire.records import iter_records, open_batch

_OPENING = b"{["


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

    def add(self, batch: memoryview, first_offset: int) -> None:
        count = len(self.messages)
        if self._is_text and self._add_texts(batch, first_offset):
            return
        first_offset = self.next_offset if len(self.messages) > count else first_offset
        for record in iter_records(batch, first_offset):
            self.messages.append(render_record(record, self._encoding))
            self.size += len(record.value or b"") + len(record.key or b"")
            if self.is_full:
                return

    def _add_texts(self, batch: memoryview, first_offset: int) -> bool:
        """False when there is more in it than this loop understands, damage included. An odd number is below zero."""
        header, body = open_batch(batch)
        if header.is_log_append_time:
            return False
        base_offset, base_timestamp, special = header.base_offset, header.base_timestamp, self._special
        add, room, size, size_max = (
            self.messages.append,
            self._count_max - len(self.messages),
            self.size,
            self._bytes_max,
        )
        pos = 0
        # Without gaps in its offsets, those to pass over are counted by their lengths alone.
        passed = max(0, first_offset - base_offset) if header.last_offset_delta == header.record_count - 1 else 0
        try:
            for _ in range(min(passed, header.record_count)):
                number, pos = body[pos], pos + 1
                if number > 127:
                    if body[pos] > 127:
                        return False
                    number, pos = number - 128 + (body[pos] << 7), pos + 1
                pos += number >> 1
            for _ in range(header.record_count - passed):
                number, pos = body[pos], pos + 1
                if number > 127:
                    if body[pos] > 127:
                        return False
                    number, pos = number - 128 + (body[pos] << 7), pos + 1
                end = pos + (number >> 1)
                number, pos = body[pos + 1], pos + 2
                if number > 127:
                    if body[pos] > 127:
                        return False
                    number, pos = number - 128 + (body[pos] << 7), pos + 1
                timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
                number, pos = body[pos], pos + 1
                if number > 127:
                    if body[pos] > 127:
                        return False
                    number, pos = number - 128 + (body[pos] << 7), pos + 1
                offset = base_offset + (number >> 1)
                if offset < first_offset and not number & 1:
                    pos = end
                    continue
                key_number, pos = body[pos], pos + 1
                key_end = pos + (key_number >> 1)
                if key_number > 127 or number & 1 or (key_number & 1 and key_number > 1) or body[pos] in special:
                    return False
                key = None if key_number & 1 else body[pos:key_end].decode()
                number, pos = body[key_end], key_end + 1
                if number > 127:
                    number, pos = number - 128 + (body[pos] << 7), pos + 1
                value_end = pos + (number >> 1)
                # A zero as its last byte: no headers.
                if number & 1 or value_end != end - 1 or body[value_end] or body[pos] in special:
                    return False
                value = body[pos:value_end].decode()
                add({"offset": offset, "key": key, "value": value, "timestamp": timestamp, "headers": {}})
                size += value_end - pos + (key_number >> 1)
                room -= 1
                if room <= 0 or size >= size_max:
                    return True
                pos = end
        except (IndexError, UnicodeDecodeError):
            return False
        finally:
            self.size = size
        return True
