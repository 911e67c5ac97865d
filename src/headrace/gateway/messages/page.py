"""One page of a partition: up to so many records and about so many bytes, from an offset on, waiting if there are none."""

import asyncio
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient, Fetched
from headrace.gateway.problem import Problem, kafka_problem
from headrace.gateway.visible import VisibleRecords
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record

FETCH_BYTES_MIN, FETCH_BYTES_MAX = 64 << 10, 4 << 20
# One fetch is enough for records of this size; what it brings too much is not opened.
LIKELY_BYTES = 2 << 10


class Limits(NamedTuple):
    records: int
    bytes: int
    wait_seconds: float = 0.0
    read_committed: bool = True


class Page(NamedTuple):
    records: list[Record]
    next_offset: int
    high_watermark: int
    log_start_offset: int

    @property
    def is_end(self) -> bool:
        """Nothing more was there."""
        return self.next_offset >= self.high_watermark or not self.records


async def read_page(client: ClusterClient, id: TopicPartition, offset: int, limits: Limits) -> Page:
    deadline = asyncio.get_running_loop().time() + limits.wait_seconds
    bytes_max = min(max(FETCH_BYTES_MIN, limits.records * LIKELY_BYTES), FETCH_BYTES_MAX, limits.bytes)
    records: list[Record] = []
    size = 0
    while True:
        left = deadline - asyncio.get_running_loop().time()
        fetched = await _fetch(client, id, offset, limits, bytes_max, 0 if records else max(0.0, left))
        visible = VisibleRecords(fetched, offset)
        for record in visible:
            records.append(record)
            size += len(record.value or b"") + len(record.key or b"")
            if len(records) >= limits.records or size >= limits.bytes:
                break
        moved, offset = visible.next_offset > offset, visible.next_offset
        is_full = len(records) >= limits.records or size >= limits.bytes
        is_over = not moved and (records or deadline <= asyncio.get_running_loop().time())
        if is_full or is_over:
            return Page(records, offset, fetched.high_watermark, fetched.log_start_offset)


async def _fetch(
    client: ClusterClient, id: TopicPartition, offset: int, limits: Limits, bytes_max: int, seconds: float
) -> Fetched:
    try:
        return await client.fetch(
            id, offset, bytes_max=bytes_max, wait_ms=int(seconds * 1000), read_committed=limits.read_committed
        )
    except Refused as refused:
        if refused.code != ErrorCode.OFFSET_OUT_OF_RANGE:
            raise
        raise await _out_of_range(client, id, offset) from None


async def _out_of_range(client: ClusterClient, id: TopicPartition, offset: int) -> Problem:
    earliest = (await client.offsets({id: EARLIEST}))[id].offset
    latest = (await client.offsets({id: LATEST}))[id].offset
    problem = kafka_problem(
        ErrorCode.OFFSET_OUT_OF_RANGE, f"{id} has no offset {offset}: it holds {earliest} up to {latest}"
    )
    problem.also |= {"earliest": earliest, "latest": latest}
    return problem


async def first_offset(client: ClusterClient, id: TopicPartition, at: int) -> int:
    """EARLIEST, LATEST, or a time in ms: where to begin. After the last record if none is that late."""
    found = (await client.offsets({id: at}))[id].offset
    return found if found >= 0 else (await client.offsets({id: LATEST}))[id].offset
