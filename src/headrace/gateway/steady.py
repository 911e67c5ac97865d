"""Replies for readers of any speed: they are given in parts, and one who takes none for too long is let go.

A server that is handed a large reply at once keeps all of it for a reader that may have stopped reading. In parts it takes
the next one, and the end, only when the last is nearly gone; until then the reply counts as in flight.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from headrace.gateway.intake import Intake
from headrace.gateway.protocol import ABORT

# Smaller ones are handed over at once and not counted.
SMALL_BYTES = 256 << 10
# Smaller parts wake the reader more often than it needs. A megabyte has to go within the time a sender has for a body.
PART_BYTES = 2 << 20


class SteadyResponse(Response):
    """Raises the Problem of a busy gateway, if at all, before anything is sent."""

    def __init__(self, content: bytes, media_type: str, intake: Intake) -> None:
        super().__init__(content, media_type=media_type)
        self._intake = intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = len(self.body)
        if size <= SMALL_BYTES:
            await super().__call__(scope, receive, send)
            return
        with self._intake.held(size), contextlib.suppress(TimeoutError):
            await self._send_parts(_in_time(scope, send, self._intake.seconds_max * (PART_BYTES >> 20)))

    async def _send_parts(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        parts = memoryview(self.body)
        for at in range(0, len(parts), PART_BYTES):
            await send({"type": "http.response.body", "body": parts[at : at + PART_BYTES], "more_body": True})
        await send({"type": "http.response.body"})


class SteadyStream(StreamingResponse):
    """`held` is what the stream needs for as long as it lasts, or until it is known that it will not begin."""

    def __init__(
        self, parts: AsyncIterator[bytes], media_type: str, seconds_max: float, held: contextlib.ExitStack
    ) -> None:
        super().__init__(parts, media_type=media_type)
        self._seconds_max = seconds_max
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held, contextlib.suppress(TimeoutError):
            await super().__call__(scope, receive, _in_time(scope, send, self._seconds_max))


def _in_time(scope: Scope, send: Send, seconds_max: float) -> Send:
    async def send_in_time(message: Message) -> None:
        try:
            async with asyncio.timeout(seconds_max):
                await send(message)
        except TimeoutError:
            # To close the connection would be to wait, with all that it holds, until the reader has taken it.
            scope[ABORT]()
            raise

    return send_in_time
