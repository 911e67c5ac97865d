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

HIDDEN_SECONDS_MAX = 10.0
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


def expected_bytes(id: TopicPartition, limits: Limits) -> int:
    return min(_sizes.wanted(id, limits.records), limits.bytes)


async def read_page(client: ClusterClient, id: TopicPartition, offset: int, limits: Limits, encoding: Encoding) -> Page:
    """May be empty before the end: markers and aborted transactions are passed over for so long only."""
    now = asyncio.get_running_loop().time
    deadline = now() + limits.wait_seconds
    patience = max(deadline, now() + HIDDEN_SECONDS_MAX)
    rendering = Rendering(encoding, limits.records, limits.bytes)
    messages = rendering.messages
    while True:
        seconds = 0 if messages else max(0.0, deadline - now())
        left = limits._replace(records=limits.records - len(messages), wait_seconds=seconds)
        fetched = await _fetch(client, id, offset, left)
        next_offset, is_done = _render(fetched, id, offset, rendering)
        moved, offset = next_offset > offset, next_offset
        if is_done or patience <= now() or (not moved and (messages or deadline <= now())):
            return Page(messages, offset, fetched.high_watermark, fetched.log_start_offset)


def _render(fetched: Fetched, id: TopicPartition, offset: int, rendering: Rendering) -> tuple[int, bool]:
    """Where to go on, and whether the page ends there. A damaged batch is a problem for whoever begins with it."""
    visible, behind = VisibleRecords(fetched, offset), None
    try:
        _sizes.learn(id, fetched.batches)
        for header, batch in visible.batches():
            behind = header.next_offset
            rendering.add(header, batch, offset)
            if rendering.is_full:
                return rendering.next_offset, True
            behind = None
    except CorruptBatch as error:
        if not rendering.messages:
            raise corrupt_batch(error, behind) from None
        return rendering.next_offset, True
    return visible.next_offset, False


async def _fetch(client: ClusterClient, id: TopicPartition, offset: int, limits: Limits) -> Fetched:
    bytes_max = expected_bytes(id, limits)
    try:
        return await client.fetch(
            id,
            offset,
            bytes_max=bytes_max,
            wait_ms=int(limits.wait_seconds * 1000),
            read_committed=limits.read_committed,
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
