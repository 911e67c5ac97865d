"""Messages for a person: a bounded look into partitions from an offset, a time or the end, with a search on the way.

A look never reads more than `SCAN_MAX` records, whatever was asked for, and says how many it has seen. Only what is
committed is shown.
"""

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

Start = Literal["latest", "earliest", "offset", "time"]


class Query(NamedTuple):
    partitions: Sequence[TopicPartition]
    start: Start = "latest"
    number: int = 0
    """The offset, or the time in ms."""
    search: str = ""
    limit: int = 100


class Message(NamedTuple):
    id: TopicPartition
    record: Record

    @property
    def key(self) -> str:
        """Of its row: unique in the topic."""
        return f"{self.id.partition}:{self.record.offset}"


class Look(NamedTuple):
    messages: Sequence[Message]
    """Newest first when it began at the end, oldest first otherwise."""
    scanned: int
    is_cut: bool
    """There was more to search than one look may."""


async def read_messages(client: ClusterClient, query: Query) -> Look:
    ends = {id: at.offset for id, at in (await client.offsets(dict.fromkeys(query.partitions, LATEST))).items()}
    begins = await _begins(client, query, ends)
    share = SCAN_MAX // max(1, len(query.partitions))
    deadline = time.monotonic() + SCAN_SECONDS_MAX
    found: list[Message] = []
    scanned, is_cut = 0, False
    for id in query.partitions:
        matched = seen = 0
        async for record in _records(client, id, begins[id], ends[id], deadline):
            seen += 1
            if matches(record, query.search):
                matched += 1
                found.append(Message(id, record))
            if seen >= share or (matched >= query.limit and query.start != "latest"):
                is_cut = is_cut or (seen >= share and record.offset + 1 < ends[id])
                break
        scanned += seen
    is_cut = is_cut or time.monotonic() >= deadline
    is_latest = query.start == "latest"
    found.sort(key=lambda each: (each.record.timestamp, each.id.partition, each.record.offset), reverse=is_latest)
    return Look(found[: query.limit], scanned, is_cut)


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
