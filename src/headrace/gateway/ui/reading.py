"""Messages for a person: a bounded look into partitions from an offset, a time or the end, with a search on the way.

A look never reads more than `SCAN_MAX` records, whatever was asked for, and says how many it has seen. It holds no more than
what it returns, which stays in memory as long as somebody looks at it. Only what is committed is shown.
"""

import heapq
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, NamedTuple

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient
from headrace.gateway.known_topics import check_readable
from headrace.gateway.visible import VisibleRecords
from headrace.wire.records import Record

SCAN_MAX = 50_000
SCAN_SECONDS_MAX = 10.0
HELD_BYTES_MAX = 8_000_000

Start = Literal["latest", "earliest", "offset", "time"]


class Query(NamedTuple):
    partitions: Sequence[TopicPartition]
    start: Start = "latest"
    number: int = 0
    """The offset, or the time in ms."""
    search: str = ""
    limit: int = 100


class FoundMessage(NamedTuple):
    id: TopicPartition
    record: Record

    @property
    def key(self) -> str:
        """The key of its row, unique in the topic."""
        return f"{self.id.partition}:{self.record.offset}"

    @property
    def size_bytes(self) -> int:
        key, value, headers = self.record.key, self.record.value, self.record.headers
        return len(key or b"") + len(value or b"") + sum(len(name) + len(text or b"") for name, text in headers)


class Look(NamedTuple):
    messages: Sequence[FoundMessage]
    """Newest first when it began at the end, oldest first otherwise."""
    scanned: int
    is_cut: bool
    """There was more to search than one look may."""
    is_heavy: bool = False
    """Fewer than asked for, since more would be too many bytes."""


async def read_messages(client: ClusterClient, query: Query) -> Look:
    ends = {id: at.offset for id, at in (await client.offsets(dict.fromkeys(query.partitions, LATEST))).items()}
    begins = await _begins(client, query, ends)
    share = SCAN_MAX // max(1, len(query.partitions))
    deadline = time.monotonic() + SCAN_SECONDS_MAX
    is_latest = query.start == "latest"
    found = Shortlist(query.limit, newest_first=is_latest)
    scanned, is_cut = 0, False
    for id in query.partitions:
        matched = seen = 0
        async for record in _records(client, id, begins[id], ends[id], deadline):
            seen += 1
            if matches(record, query.search):
                matched += 1
                found.offer(FoundMessage(id, record))
            if seen >= share or (matched >= query.limit and not is_latest):
                is_cut = is_cut or (seen >= share and record.offset + 1 < ends[id])
                break
        scanned += seen
    is_cut = is_cut or time.monotonic() >= deadline
    return Look(found.messages(), scanned, is_cut, found.is_heavy)


class Shortlist:
    """The first messages by time, from either end: so many, of so many bytes, but one at least; all others are let go."""

    def __init__(self, limit: int, *, newest_first: bool) -> None:
        self._limit = limit
        self._sign = 1 if newest_first else -1
        self._held: list[tuple[tuple[int, int, int], FoundMessage]] = []
        """A heap: what would go next is at its top."""
        self._held_bytes = 0
        self._let_go: tuple[int, int, int] | None = None

    def offer(self, message: FoundMessage) -> None:
        at = (message.record.timestamp, message.id.partition, message.record.offset)
        place = (self._sign * at[0], self._sign * at[1], self._sign * at[2])
        if self._let_go is not None and place < self._let_go:
            # Small enough to fit, perhaps; but one that comes before it did not.
            return
        heapq.heappush(self._held, (place, message))
        self._held_bytes += message.size_bytes
        while len(self._held) > self._limit or (self._held_bytes > HELD_BYTES_MAX and len(self._held) > 1):
            self._let_go, gone = heapq.heappop(self._held)
            self._held_bytes -= gone.size_bytes

    def messages(self) -> list[FoundMessage]:
        return [message for _, message in sorted(self._held, reverse=True)]

    @property
    def is_heavy(self) -> bool:
        return self._let_go is not None and len(self._held) < self._limit


async def _begins(client: ClusterClient, query: Query, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    starts = {id: at.offset for id, at in (await client.offsets(dict.fromkeys(ends, EARLIEST))).items()}
    match query.start:
        case "earliest":
            return starts
        case "offset":
            return {id: min(max(query.number, starts[id]), ends[id]) for id in ends}
        case "time":
            at = await client.offsets(dict.fromkeys(ends, query.number))
            return {id: ends[id] if at[id].offset < 0 else at[id].offset for id in ends}
        case "latest":
            back = SCAN_MAX // max(1, len(ends)) if query.search else query.limit
            return {id: max(starts[id], ends[id] - back) for id in ends}


async def _records(
    client: ClusterClient, id: TopicPartition, offset: int, end: int, deadline: float
) -> AsyncIterator[Record]:
    check_readable(id.topic)
    while offset < end and time.monotonic() < deadline:
        visible = VisibleRecords(await client.fetch(id, offset, seconds_max=SCAN_SECONDS_MAX), offset)
        for record in visible:
            if record.offset >= end:
                return
            yield record
        if visible.next_offset == offset:
            return
        offset = visible.next_offset


def matches(record: Record, search: str) -> bool:
    """In the key, the value, or the name or value of a header; letters of ASCII in either case."""
    if not search:
        return True
    wanted = search.encode().lower()
    texts = [record.key, record.value, *(part for name, value in record.headers for part in (name.encode(), value))]
    return any(wanted in text.lower() for text in texts if text)
