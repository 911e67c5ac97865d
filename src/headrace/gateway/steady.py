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

# Smaller ones are handed over at once and not counted.
SMALL_BYTES = 256 << 10
# Smaller parts wake the reader more often than it needs. One part has to go within the time a sender has for a body.
PART_BYTES = 2 << 20


class SteadyResponse(Response):
    def __init__(self, content: bytes, media_type: str, intake: Intake) -> None:
        super().__init__(content, media_type=media_type)
        self._intake = intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = len(self.body)
        if size <= SMALL_BYTES:
            await super().__call__(scope, receive, send)
            return
        self._intake.take(size)
        try:
            await self._send_parts(send, self._intake.seconds_max)
        except TimeoutError:
            # Returning with the reply unfinished makes the server close the connection.
            return
        finally:
            self._intake.give_back(size)

    async def _send_parts(self, send: Send, seconds_max: float) -> None:
        now = asyncio.get_running_loop().time
        async with asyncio.timeout(seconds_max) as patience:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            parts = memoryview(self.body)
            for at in range(0, len(parts), PART_BYTES):
                patience.reschedule(now() + seconds_max)
                await send({"type": "http.response.body", "body": parts[at : at + PART_BYTES], "more_body": True})
            await send({"type": "http.response.body"})


class SteadyStream(StreamingResponse):
    def __init__(self, parts: AsyncIterator[bytes], media_type: str, seconds_max: float) -> None:
        super().__init__(parts, media_type=media_type)
        self._seconds_max = seconds_max

    async def stream_response(self, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._seconds_max):
                await send(message)

        with contextlib.suppress(TimeoutError):
            await super().stream_response(send_in_time)
