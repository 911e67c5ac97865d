"""POST of a stream: a message per line (application/x-ndjson), of any length, stored while it still comes.

At most two chunks are in memory: one on its way to the brokers, one being read. A sender that is faster than the brokers
is not read from meanwhile. A chunk is a megabyte, or a line that is longer. What came before a bad line is stored; the
reply says how much that is.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from headrace.client.produce.outgoing import Outgoing
from headrace.client.produce.receipt import Receipt
from headrace.gateway.gateway import Gateway
from headrace.gateway.intake import Claim, too_slow
from headrace.gateway.messages import exact_json
from headrace.gateway.messages.incoming import parse_message
from headrace.gateway.messages.store import MessageStore, failure
from headrace.gateway.problem import Problem

NDJSON = "application/x-ndjson"
CHUNK_MESSAGES = 1000
CHUNK_BYTES = 1 << 20


async def store_stream(gateway: Gateway, request: Request, topic: str, acks: str) -> Response:
    tally = _Tally()
    try:
        await _store_lines(gateway, request, topic, acks, tally)
    except Problem as problem:
        problem.also |= tally.fields()
        raise
    return Response(orjson.dumps(tally.fields()), media_type="application/json")


async def _store_lines(gateway: Gateway, request: Request, topic: str, acks: str, tally: "_Tally") -> None:
    store = gateway.part(MessageStore)
    await store.require(topic, acks)
    sending: asyncio.Task[Receipt] | None = None
    try:
        async for chunk in _chunks(gateway, request):
            messages, complaint = _parse_lines(chunk, tally)
            if sending is not None:
                sent, sending = sending, None
                tally.add(topic, await sent)
            sending = asyncio.ensure_future(store.store(topic, messages, acks)) if messages else None
            if complaint is not None:
                raise complaint
    finally:
        # Also when the sender broke off: what was sent on is sent, and is counted.
        if sending is not None:
            tally.add(topic, await sending)


async def _chunks(gateway: Gateway, request: Request) -> AsyncIterator[list[bytes]]:
    """Whole lines, many at a time. The bytes that wait here count as in flight."""
    lines, size, unfinished = list[bytes](), 0, _Line(gateway.intake.body_bytes_max)
    parts = request.stream().__aiter__()
    claim = Claim(gateway.intake)
    try:
        claim.reach(CHUNK_BYTES)
        while (part := await _next_part(parts, gateway.intake.seconds_max)) is not None:
            size += len(part)
            claim.reach(size)
            first, *others = part.split(b"\n")
            unfinished.add(first)
            for other in others:
                lines.append(unfinished.whole())
                unfinished.add(other)
            if lines and (size >= CHUNK_BYTES or len(lines) >= CHUNK_MESSAGES):
                yield lines
                lines, size = [], unfinished.size
        yield [*lines, unfinished.whole()]
    finally:
        claim.release()


class _Line:
    """A line in the making: put together once, however many parts it comes in."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._parts: list[bytes] = []
        self.size = 0

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if self.size > self._bytes_max:
            raise _line_too_long(self._bytes_max)
        self._parts.append(part)

    def whole(self) -> bytes:
        line = b"".join(self._parts)
        self._parts, self.size = [], 0
        return line


async def _next_part(parts: AsyncIterator[bytes], seconds_max: float) -> bytes | None:
    try:
        async with asyncio.timeout(seconds_max):
            return await anext(parts, None)
    except TimeoutError:
        raise too_slow(seconds_max) from None


def _parse_lines(lines: list[bytes], tally: "_Tally") -> tuple[list[Outgoing], Problem | None]:
    """The messages up to the first bad line, and the complaint about that."""
    messages = []
    for line in lines:
        tally.line += 1
        if not line.strip():
            continue
        where = f"line {tally.line}"
        try:
            messages.append(parse_message(exact_json.loads(line), where))
        except orjson.JSONDecodeError as error:
            return messages, Problem(400, "Bad JSON", f"{where}: {error}", 'one {"value": …} on each line')
        except Problem as problem:
            return messages, problem
    return messages, None


def _line_too_long(bytes_max: int) -> Problem:
    return Problem(
        413, "Line too long", f"a line has more than {bytes_max} bytes (body_bytes_max)", "put one message on each line"
    )


class _Tally:
    """How much is stored, and where: the reply has the same size however long the stream was."""

    def __init__(self) -> None:
        self.line = 0
        self._stored = 0
        self._partitions: dict[int, list[int]] = {}

    def add(self, topic: str, receipt: Receipt) -> None:
        for run in receipt.runs:
            self._stored += len(run.indexes)
            span = self._partitions.setdefault(run.partition, [run.first_offset, 0])
            span[1] = run.first_offset + len(run.indexes) - 1
        if receipt.failures:
            raise failure(topic, receipt.failures[0][1])

    def fields(self) -> dict[str, Any]:
        spans = {
            str(partition): {"first_offset": first, "last_offset": last}
            for partition, (first, last) in sorted(self._partitions.items())
        }
        return {"stored": self._stored, "partitions": spans}
