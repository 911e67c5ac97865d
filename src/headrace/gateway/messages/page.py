"""One page of a partition: up to so many records and about so many bytes, from an offset on, waiting if there are none."""

import asyncio
from typing import Any, NamedTuple

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient, Fetched
from headrace.gateway.messages.fetch_sizes import FetchSizes
from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.messages.rendering import Rendering
from headrace.gateway.problem import Problem, corrupt_batch, kafka_problem
from headrace.gateway.visible import VisibleRecords
from headrace.wire.batch import CorruptBatch
from headrace.wire.codes import ErrorCode

_sizes = FetchSizes()


class Limits(NamedTuple):
    records: int
    bytes: int
    wait_seconds: float = 0.0
    read_committed: bool = True


class Page(NamedTuple):
    messages: list[dict[str, Any]]
    """Rendered."""
    next_offset: int
    high_watermark: int
    log_start_offset: int

    @property
    def is_end(self) -> bool:
        """Nothing more was there."""
        return self.next_offset >= self.high_watermark or not self.messages


async def read_page(client: ClusterClient, id: TopicPartition, offset: int, limits: Limits, encoding: Encoding) -> Page:
    now = asyncio.get_running_loop().time
    deadline = now() + limits.wait_seconds
    rendering = Rendering(encoding, limits.records, limits.bytes)
    messages = rendering.messages
    while True:
        seconds = 0 if messages else max(0.0, deadline - now())
        fetched = await _fetch(client, id, offset, limits, limits.records - len(messages), seconds)
        _sizes.learn(id, fetched.batches)
        visible = VisibleRecords(fetched, offset)
        for header, batch in visible.batches():
            try:
                rendering.add(header, batch, offset)
            except CorruptBatch as error:
                raise corrupt_batch(error) from None
            if rendering.is_full:
                return Page(messages, rendering.next_offset, fetched.high_watermark, fetched.log_start_offset)
        moved, offset = visible.next_offset > offset, visible.next_offset
        if not moved and (messages or deadline <= now()):
            return Page(messages, offset, fetched.high_watermark, fetched.log_start_offset)


async def _fetch(
    client: ClusterClient, id: TopicPartition, offset: int, limits: Limits, records: int, seconds: float
) -> Fetched:
    bytes_max = min(_sizes.wanted(id, records), limits.bytes)
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
