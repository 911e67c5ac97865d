"""One HTTP/1.1 connection to one etcd member: a request, then its reply whole or line by line.

h11 knows the protocol, this file only moves bytes. Nothing here retries or waits with a deadline of its own: a caller
that gives up on a connection aborts it, and its request may or may not have been done.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Final

import h11

from headrace.stores.etcd_url import Endpoint

READ_BYTES: Final = 256 * 1024
REPLY_BYTES_MAX: Final = 64 * 1024 * 1024


class ConnectionBroken(ConnectionError):
    """The peer closed the connection, or sent bytes that are not HTTP."""


class HttpConnection:
    def __init__(self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.endpoint = endpoint
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT)
        self._rest = bytearray()

    @classmethod
    async def open(cls, endpoint: Endpoint, tls: ssl.SSLContext | None) -> "HttpConnection":
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port, ssl=tls, limit=READ_BYTES)
        return cls(endpoint, reader, writer)

    async def send(self, path: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Sends a request and returns the status of the reply; its body is still to be read."""
        request = h11.Request(
            method="POST",
            target=path,
            headers=[("Host", str(self.endpoint)), ("Content-Length", str(len(body))), *headers.items()],
        )
        parts = (self._http.send(event) for event in (request, h11.Data(data=body), h11.EndOfMessage()))
        self._writer.write(b"".join(part for part in parts if part))
        await self._writer.drain()
        event = await self._next_event()
        while not isinstance(event, h11.Response):
            event = await self._next_event()
        return event.status_code

    async def read_all(self) -> bytes:
        body = bytearray()
        while (piece := await self._read_piece()) is not None:
            body += piece
            _check_bound(body)
        return bytes(body)

    async def read_line(self) -> bytes | None:
        """The next line of the reply, None at its end. A cancelled call loses nothing: the next one goes on there."""
        while (end := self._rest.find(b"\n")) < 0:
            piece = await self._read_piece()
            if piece is None:
                return None
            self._rest += piece
            _check_bound(self._rest)
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line

    async def _read_piece(self) -> bytes | None:
        event = await self._next_event()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def _next_event(self) -> h11.Event:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = await self._reader.read(READ_BYTES)
                if not data:
                    raise ConnectionBroken("it closed the connection without an answer")
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise ConnectionBroken(f"it does not speak HTTP ({error})") from error
        assert not isinstance(event, type), f"h11 said {event}"
        return event

    def renewed(self) -> bool:
        """Makes ready for another request; returns False if none may follow on this connection."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    @property
    def is_closed(self) -> bool:
        return self._writer.is_closing() or self._reader.at_eof()

    def abort(self) -> None:
        self._writer.transport.abort()


def _check_bound(body: bytearray) -> None:
    if len(body) > REPLY_BYTES_MAX:
        raise ConnectionBroken(f"a reply of more than {REPLY_BYTES_MAX} bytes")
