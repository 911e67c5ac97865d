"""uvicorn's HTTP protocol with limits on what comes before a request is whole: the size of its head and its time.

Without them one client could fill our memory with an endless header, or hold sockets with heads that never end. Deadlines
are looked at by one sweep over all connections, so a request costs no timer.
"""

import asyncio
import time
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from websockets import http11

from headrace.gateway.problem import Problem

HEAD_BYTES_MAX = 64 << 10
SWEEPS_PER_LIMIT = 4
# In the scope of a request: ends its connection at once, and forgets what its reader has not taken.
ABORT = "headrace.abort"
# The head of a WebSocket is read a second time, by a library that has a bound for each line.
http11.MAX_LINE_LENGTH = HEAD_BYTES_MAX


class BoundedProtocol(HttpToolsProtocol):
    """`head_since` is when we began to wait for the head that is not whole yet; 0 while there is none to wait for."""

    head_since = 0.0
    _head_bytes = 0
    _unfinished_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.head_since = time.monotonic()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # A header without an end is no header yet, and nobody is told of it.
        self._unfinished_bytes = self._unfinished_bytes + len(data) if self.head_since else 0
        if self._unfinished_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._head_bytes = self._unfinished_bytes
            self.send_400_response("")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast(dict[str, Any], self.scope)[ABORT] = self.transport.abort
        self.head_since = time.monotonic()
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.head_since = 0.0
        super().on_headers_complete()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES_MAX:
            # The parser turns what a callback raises into an error of the request.
            raise ValueError(f"the head of a request has more than {HEAD_BYTES_MAX} bytes")

    def send_400_response(self, msg: str) -> None:
        if self._head_bytes > HEAD_BYTES_MAX:
            problem = Problem(431, "Head too large", f"more than {HEAD_BYTES_MAX} bytes", "send shorter headers")
        else:
            problem = Problem(400, "Bad request", "this is not HTTP/1.1", "check the program that sent it")
        body = bytes(problem.response().body)
        head = f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: application/problem+json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()


async def sweep(connections: set[Any], head_seconds_max: float) -> None:
    """Closes what waits for its head for too long; runs as long as the server."""
    while True:
        await asyncio.sleep(head_seconds_max / SWEEPS_PER_LIMIT)
        latest = time.monotonic() - head_seconds_max
        for connection in list(connections):
            if isinstance(connection, BoundedProtocol) and 0 < connection.head_since < latest:
                connection.transport.close()
