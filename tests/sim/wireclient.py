"""A connection of a simulated client, with an ear at the broker's end of it.

The ear hears a reply at the moment the broker writes it, long before it arrives: that is when an acknowledgement must be
true. The client itself gets the same reply when its bytes have made their way, or never.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any

from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.frame import parse_response_header, request_frame
from headrace.wire.schema import RESPONSES, Request
from sim.loop import HostLoop

_LENGTH = Struct(">i")
CONNECT_SECONDS_MAX = 1.0

Ear = Callable[[str, Request, Any], None]
"""Told the broker's address, the request and its reply."""


class Lost(Exception):
    """The connection is gone, or its broker does not answer: what became of the request is unknown."""


class _Asked:
    __slots__ = ("future", "request", "response", "version")

    def __init__(self, request: Request, version: int, future: asyncio.Future[Any]) -> None:
        self.request = request
        self.version = version
        self.future = future
        self.response: Any = None


class WireClient(asyncio.Protocol):
    def __init__(self, name: str, address: tuple[str, int], ear: Ear | None) -> None:
        self.is_lost = False
        self.address = address
        self._name = name
        self._ear = ear
        self._next_id = 0
        self._transport: Any = None
        self._heard = bytearray()
        self._unheard: deque[_Asked] = deque()
        self._due = 0
        self._frames: deque[tuple[int, _Asked]] = deque()
        self._waiting: deque[_Asked] = deque()

    @classmethod
    async def open(cls, loop: HostLoop, address: tuple[str, int], ear: Ear | None = None) -> "WireClient":
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                _, client = await loop.create_connection(lambda: cls(loop.name, address, ear), *address)
        except (OSError, TimeoutError) as error:
            raise Lost(str(error)) from error
        return client  # type: ignore[no-any-return]

    def send(self, request: Request, version: int) -> asyncio.Future[Any]:
        """The reply, later; replies come in the order of their requests."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.is_lost:
            future.set_exception(Lost("closed"))
            return future
        self._next_id += 1
        asked = _Asked(request, version, future)
        self._unheard.append(asked)
        self._waiting.append(asked)
        self._transport.write(b"".join(request_frame(request, version, self._next_id, self._name)))
        return future

    def tell(self, request: Request, version: int) -> None:
        """One that has no reply: a Produce with acks=0."""
        if self.is_lost:
            raise Lost("closed")
        self._next_id += 1
        self._transport.write(b"".join(request_frame(request, version, self._next_id, self._name)))

    async def ask(self, request: Request, version: int, seconds_max: float = 3.0) -> Any:
        return await self.until_answered(self.send(request, version), seconds_max)

    async def until_answered(self, future: asyncio.Future[Any], seconds_max: float) -> Any:
        try:
            async with asyncio.timeout(seconds_max):
                return await future
        except TimeoutError:
            self.close()
            raise Lost("no answer in time") from None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self.connection_lost(None)

    # -- the broker's end ------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.peer.on_write = self._on_broker_write

    def _on_broker_write(self, chunk: bytes) -> None:
        heard = self._heard
        heard += chunk
        while len(heard) >= 4 and len(heard) >= 4 + (size := _LENGTH.unpack_from(heard)[0]):
            frame = bytes(heard[4 : 4 + size])
            del heard[: 4 + size]
            asked = self._unheard.popleft()
            answer = RESPONSES[asked.request.API_KEY]
            _, position = parse_response_header(APIS[answer.API_KEY], asked.version, frame)
            asked.response = decode(answer, asked.version, frame, position)
            self._frames.append((4 + size, asked))
            if self._ear is not None:
                self._ear(self._transport.link[1], asked.request, asked.response)

    # -- the client's end ------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._due += len(data)
        while self._frames and self._due >= self._frames[0][0]:
            size, asked = self._frames.popleft()
            self._due -= size
            self._waiting.popleft()
            if not asked.future.done():
                asked.future.set_result(asked.response)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        waiting, self._waiting = self._waiting, deque()
        for asked in waiting:
            if not asked.future.done():
                asked.future.set_exception(Lost(str(exc)))
                # Not everybody who asked still waits.
                asked.future.exception()
