"""One connection to a broker: requests out, responses matched by correlation id, each with a deadline.

A response is received into a buffer of its own, so the records in it stay valid as long as somebody holds them. A
connection that fails once is finished: whoever used it opens another.
"""

import asyncio
from struct import Struct
from typing import Any, TypeVar, cast

from headrace.base.errors import PeerError
from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.frame import parse_response_header, request_frame
from headrace.wire.schema import Request, Response

_LENGTH = Struct(">i")
RESPONSE_BYTES_MAX = 256 << 20

R = TypeVar("R", bound=Response)


class Disconnected(Exception):
    """The other side is gone, or did not answer in time. What it did with the request is unknown."""


class ClientConnection(asyncio.BufferedProtocol):
    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._transport: asyncio.Transport | None = None
        self._next_id = 0
        self._waiting: dict[int, tuple[type[Response], int, asyncio.Future[Any]]] = {}
        self._length = bytearray(4)
        self._target = memoryview(self._length)
        self._filled = 0
        self._body: bytearray | None = None
        self._lost = False

    @classmethod
    async def open(cls, host: str, port: int, client_id: str, seconds_max: float) -> "ClientConnection":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds_max):
                _, connection = await loop.create_connection(lambda: cls(client_id), host, port)
        except (OSError, TimeoutError) as error:
            raise Disconnected(f"cannot connect to {host}:{port}: {error or 'no answer'}") from error
        return connection

    async def ask(self, request: Request, response: type[R], version: int, seconds_max: float) -> R:
        if self._lost or self._transport is None:
            raise Disconnected("the connection is closed")
        self._next_id += 1
        correlation_id = self._next_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = (response, version, future)
        self._transport.write(b"".join(request_frame(request, version, correlation_id, self._client_id)))
        try:
            async with asyncio.timeout(seconds_max):
                return cast(R, await future)
        except TimeoutError:
            self.close()
            raise Disconnected(f"no answer to {type(request).__name__} in {seconds_max:.1f} s") from None
        finally:
            self._waiting.pop(correlation_id, None)

    def close(self) -> None:
        self._fail(Disconnected("the connection is closed"))

    @property
    def is_lost(self) -> bool:
        return self._lost

    # -- asyncio's side ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(Disconnected(f"connection lost: {exc or 'closed by the broker'}"))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._target[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled < len(self._target):
            return
        try:
            self._on_filled()
        except PeerError as error:
            self._fail(Disconnected(str(error)))

    def _on_filled(self) -> None:
        self._filled = 0
        if self._body is None:
            (size,) = _LENGTH.unpack(self._length)
            if not 4 <= size <= RESPONSE_BYTES_MAX:
                raise PeerError(f"response of {size} bytes")
            self._body = bytearray(size)
            self._target = memoryview(self._body)
            return
        body, self._body = self._target, None
        self._target = memoryview(self._length)
        self._on_response(body)

    def _on_response(self, body: memoryview) -> None:
        (correlation_id,) = _LENGTH.unpack_from(body)
        waiting = self._waiting.get(correlation_id)
        if waiting is None:
            # Its caller gave up; the answer is of no use any more.
            return
        response, version, future = waiting
        _, position = parse_response_header(APIS[response.API_KEY], version, body)
        if not future.done():
            future.set_result(decode(response, version, body, position))

    def _fail(self, error: Disconnected) -> None:
        if self._lost:
            return
        self._lost = True
        if self._transport is not None:
            self._transport.abort()
        for _, _, future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
