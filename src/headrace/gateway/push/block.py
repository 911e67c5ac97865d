"""A block: consecutive events of one topic and their bytes on the wire, rendered once for all listeners that share them.

Each event's id tells the position after it in every partition. So a rendering can be shared by exactly those listeners
whose position before the block is the same; at the live end of a topic that is nearly all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from sys import getsizeof
from typing import NamedTuple

import orjson

from headrace.gateway.messages.outgoing import Encoding, render_record
from headrace.gateway.push.positions import Positions
from headrace.wire.records import Record

# What Python takes for a block, an event, and each header, beside what is in them.
BLOCK_BYTES, EVENT_BYTES, HEADER_BYTES = 600, 220, 110


class Event(NamedTuple):
    partition: int
    record: Record

    @property
    def size(self) -> int:
        _, _, key, value, headers = self.record
        size = EVENT_BYTES + len(key or b"") + len(value or b"")
        for name, content in headers:
            size += HEADER_BYTES + len(name) + len(content or b"")
        return size


class Gap(NamedTuple):
    """Records that retention took before this listener came to them."""

    partition: int
    first_offset: int
    next_offset: int


def ignored(_: int) -> None:
    """Where nobody counts."""


class Block:
    __slots__ = ("_frames", "_texts", "after", "before", "events", "gaps", "on_grown", "size")

    def __init__(self, before: Positions, events: Sequence[Event], after: Positions, gaps: Sequence[Gap] = ()) -> None:
        self.before = before
        self.events = events
        self.after = after
        """May be further than the last event: markers and the like are passed over."""
        self.gaps = gaps
        self.size = sum(event.size for event in events) + BLOCK_BYTES + getsizeof(after)
        """Bytes that are kept for it, renderings included."""
        self.on_grown: Callable[[int], object] = ignored
        self._texts: dict[Encoding, bytes] = {}
        self._frames: dict[Encoding, list[str]] = {}

    def as_text(self, encoding: Encoding) -> bytes:
        """The block as server-sent events."""
        text = self._texts.get(encoding)
        if text is None:
            text = self._texts[encoding] = b"".join(self._render(_as_event, encoding))
            self._grow(len(text))
        return text

    def as_frames(self, encoding: Encoding) -> list[str]:
        """The block as messages of a WebSocket."""
        frames = self._frames.get(encoding)
        if frames is None:
            frames = self._frames[encoding] = [each.decode() for each in self._render(_as_frame, encoding)]
            self._grow(sum(map(getsizeof, frames)))
        return frames

    def _grow(self, size: int) -> None:
        self.size += size
        self.on_grown(size)

    def _render(self, write: Callable[[bytes, bytes, bytes], bytes], encoding: Encoding) -> Iterator[bytes]:
        ids = {partition: b"%d:%d" % (partition, offset) for partition, offset in self.before.items()}
        for gap in self.gaps:
            ids[gap.partition] = b"%d:%d" % (gap.partition, gap.next_offset)
            yield write(b",".join(ids.values()), b"gap", orjson.dumps(gap._asdict()))
        for partition, record in self.events:
            ids[partition] = b"%d:%d" % (partition, record.offset + 1)
            fields = orjson.dumps({"partition": partition, **render_record(record, encoding)})
            yield write(b",".join(ids.values()), b"", fields)


def _as_event(id: bytes, name: bytes, fields: bytes) -> bytes:
    # JSON has no line breaks of its own, so one line of data is always enough.
    kind = b"event: %s\n" % name if name else b""
    return b"id: %s\n%sdata: %s\n\n" % (id, kind, fields)


def _as_frame(id: bytes, name: bytes, fields: bytes) -> bytes:
    kind = b'"event":"%s",' % name if name else b""
    return b'{"id":"%s",%s%s' % (id, kind, fields[1:])
