"""A stream of server-sent events: written straight to the connection, a block at a time.

The reply begins before the first event, and has no end of its own. A client that goes ends it; so does the hub, with an
event that says why. A quiet stream carries a comment now and then, so that everybody on the way keeps it open.
"""

import asyncio
from contextlib import AbstractAsyncContextManager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.push.hub import Sent
from headrace.gateway.push.stream import ENDS, Stream, cut_when_over, farewell

RETRY_MS = 1000
# The browser waits so long before it comes back.
OPENING = b"retry: %d\n\n" % RETRY_MS
SIGN_OF_LIFE = b": quiet\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # For proxies that would collect a reply before they pass it on.
    (b"x-accel-buffering", b"no"),
]


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(self, opened: AbstractAsyncContextManager[Stream], encoding: Encoding, sent: Sent) -> None:
        """Opened when the reply begins: a refusal is a reply of its own."""
        super().__init__()
        self._opened = opened
        self._encoding = encoding
        self._sent = sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._opened as stream:
            try:
                with cut_when_over(stream, _until_gone(receive)):
                    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                    await self._write(stream, send)
            except asyncio.CancelledError:
                pass  # the client is gone, or took nothing for too long: nobody is left to tell

    async def _write(self, stream: Stream, send: Send) -> None:
        await send({"type": "http.response.body", "body": OPENING, "more_body": True})
        while True:
            try:
                block = await stream.next()
            except ENDS as error:
                text = b"event: end\ndata: %s\n\n" % farewell(error)
                await send({"type": "http.response.body", "body": text, "more_body": False})
                return
            text = SIGN_OF_LIFE if block is None else block.as_text(self._encoding)
            await send({"type": "http.response.body", "body": text, "more_body": True})
            self._sent.sse += len(block.events) if block is not None else 0


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
