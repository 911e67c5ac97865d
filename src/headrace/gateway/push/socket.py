"""A WebSocket that carries what an event stream does: one message of JSON for each event, its id among the fields.

What the client sends is for `on_text`: a listener of a topic has nothing to say, a member of a group commits. The close
code and reason say how it ended: 1001 the gateway stops, 1008 something is wrong with the request, 1011 with the brokers.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.problem import Problem
from headrace.gateway.push.hub import Sent
from headrace.gateway.push.stream import ENDS, Ended, Stream, cut_when_over, farewell

GOING_AWAY, POLICY, FAULT = 1001, 1008, 1011
# A control frame has room for 125 bytes, two of which are the code.
REASON_BYTES_MAX = 120
OnText = Callable[[str], Awaitable[None]]


async def push(socket: WebSocket, stream: Stream, encoding: Encoding, on_text: OnText, sent: Sent) -> None:
    """Pushes until the client goes, or the stream ends. A quiet connection is kept open by the server's pings."""
    with cut_when_over(stream, _read(socket, on_text)) as reading:
        try:
            while True:
                block = await stream.next()
                for frame in block.as_frames(encoding) if block else ():
                    await socket.send({"type": "websocket.send", "text": frame})
                sent.websocket += len(block.events) if block else 0
        except asyncio.CancelledError:
            # Where nobody reads, it took nothing for too long, and would not take the reason either.
            if reading.done() and (error := _error(reading)) is not None:
                await close(socket, error)
        except WebSocketDisconnect:
            pass
        except ENDS as error:
            await close(socket, error)


async def close(socket: WebSocket, error: Exception) -> None:
    """The whole reason as a last message, and as much of it as fits in the close frame."""
    if socket.application_state is WebSocketState.DISCONNECTED:
        return
    fields = farewell(error)
    said = orjson.loads(fields)
    code = GOING_AWAY if isinstance(error, Ended) else POLICY if said["status"] < 500 else FAULT
    reason = said["detail"].encode()[:REASON_BYTES_MAX].decode(errors="ignore")
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        if socket.application_state is WebSocketState.CONNECTED:
            await socket.send_text(fields.decode())
        await socket.close(code, reason)


async def _read(socket: WebSocket, on_text: OnText) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        await on_text(message.get("text") or "")


def _error(reading: "asyncio.Task[None]") -> Exception | None:
    error = reading.exception()
    return error if isinstance(error, Problem) else None
