"""Calls to an etcd cluster over its v3 JSON gateway: any member, a deadline, the next member when one does not answer.

Why the gateway and not gRPC: every etcd since 3.4 serves it on the same port, JSON and TLS are in the standard library
and HTTP/1.1 needs h11, one small package of pure Python; grpcio is 7 MB of native code with threads of its own, and
would want protobuf and generated stubs. What gRPC would add, we need anyway from end to end: a watch is checked against
the store (`etcd_watch`), since a live connection does not prove a live member. Base64 makes bodies a third larger.

A call is tried again on the next member until the deadline, so it may be done twice. A caller that cannot bear that
passes `again`, the body for every attempt after the first.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from headrace.base.errors import StoreUnreachable
from headrace.stores.etcd_http import HttpConnection
from headrace.stores.etcd_replies import EtcdBusy, Json, TokenExpired, read_error, read_reply
from headrace.stores.etcd_url import Endpoint, EtcdUrl

AUTHENTICATE: Final = "/v3/auth/authenticate"
IDLE_MAX: Final = 8
PAUSE_S: Final = (0.02, 0.1)

# A member that has lost its cluster would otherwise keep a silent stream open.
_REQUIRE_LEADER: Final = {"Grpc-Metadata-hasleader": "true"}

_Answer = TypeVar("_Answer")
_Attempt = Callable[[Endpoint, bool], Awaitable[_Answer]]


class EtcdStream:
    """The messages that etcd sends until one side ends the stream."""

    def __init__(self, connection: HttpConnection) -> None:
        self.connection = connection

    async def next(self, wait_s: float) -> Json | None:
        """The next message, or None if none came in that time; `OSError` when the stream has ended."""
        try:
            async with asyncio.timeout(wait_s) as patience:
                line = await self.connection.read_line()
        except TimeoutError:
            if patience.expired():
                return None
            raise
        if line is None:
            raise ConnectionError("the stream ended")
        try:
            return read_reply(line)
        except EtcdBusy as error:
            raise ConnectionError(f"the stream ended: {error}") from error


class EtcdGateway:
    def __init__(self, url: EtcdUrl, deadline_s: float) -> None:
        self.url = url
        self._deadline_s = deadline_s
        # Members that hang must leave time to ask the others, and a renewal time before its lease runs out.
        self._attempt_s = deadline_s / (2 * len(url.endpoints))
        self._tls = url.tls_context()
        self._token = ""
        # Begin with any of them, so that many brokers spread over the members.
        self._current = random.randrange(len(url.endpoints))
        self._idle: list[HttpConnection] = []
        self._open: dict[HttpConnection, None] = {}
        self._closed = False

    async def call(self, path: str, body: Json, again: Json | None = None) -> Json:
        async def attempt(endpoint: Endpoint, is_first: bool) -> Json:
            return await self._ask(endpoint, path, body if is_first or again is None else again)

        return await self._anywhere(attempt)

    @asynccontextmanager
    async def stream(self, path: str, body: Json) -> AsyncIterator[EtcdStream]:
        """Opens a stream: etcd's first message, which says only that it is open, has been read."""

        async def attempt(endpoint: Endpoint, _: bool) -> EtcdStream:
            return await self._open_stream(endpoint, path, body)

        stream = await self._anywhere(attempt)
        try:
            yield stream
        finally:
            self._drop(stream.connection)

    @asynccontextmanager
    async def within_deadline(self) -> AsyncIterator[None]:
        """Holds several calls to one deadline."""
        try:
            async with asyncio.timeout(self._deadline_s):
                yield
        except TimeoutError:
            raise StoreUnreachable(f"{self.url} did not answer within {self._deadline_s:g} s") from None

    def turn_from(self, endpoint: Endpoint) -> None:
        """Asks another member from now on."""
        if self.url.endpoints[self._current] == endpoint:
            self._current = (self._current + 1) % len(self.url.endpoints)
        for connection in [each for each in self._idle if each.endpoint == endpoint]:
            self._idle.remove(connection)
            self._drop(connection)

    async def close(self) -> None:
        """Closes all connections; calls under way end with `StoreUnreachable`."""
        self._closed = True
        for connection in list(self._open):
            self._drop(connection)
        # An aborted transport closes its socket on the next turn of the loop.
        await asyncio.sleep(0)

    async def _anywhere(self, attempt: _Attempt[_Answer]) -> _Answer:
        troubles: dict[Endpoint, str] = {}
        try:
            async with asyncio.timeout(self._deadline_s):
                return await self._until_answered(attempt, troubles)
        except TimeoutError:
            why = "; ".join(f"{endpoint}: {trouble}" for endpoint, trouble in troubles.items()) or "no answer"
            raise StoreUnreachable(f"{self.url} did not answer within {self._deadline_s:g} s ({why})") from None

    async def _until_answered(self, attempt: _Attempt[_Answer], troubles: dict[Endpoint, str]) -> _Answer:
        is_first = True
        while True:
            self._check_open()
            endpoint = self.url.endpoints[self._current]
            was_tried = endpoint in troubles
            try:
                async with asyncio.timeout(self._attempt_s) as patience:
                    return await attempt(endpoint, is_first)
            except (OSError, EtcdBusy) as error:
                troubles[endpoint] = "no answer" if patience.expired() else str(error)
                if isinstance(error, TokenExpired):
                    self._token = ""
            self.turn_from(endpoint)
            is_first = False
            if was_tried:
                await asyncio.sleep(random.uniform(*PAUSE_S))

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnreachable(f"{self.url} is closed")

    async def _ask(self, endpoint: Endpoint, path: str, body: Json) -> Json:
        connection = await self._send(endpoint, path, body, {})
        try:
            reply = read_reply(await connection.read_all())
        except BaseException:
            self._drop(connection)
            raise
        self._keep(connection)
        return reply

    async def _open_stream(self, endpoint: Endpoint, path: str, body: Json) -> EtcdStream:
        connection = await self._send(endpoint, path, body, _REQUIRE_LEADER)
        stream = EtcdStream(connection)
        try:
            if await stream.next(self._attempt_s) is None:
                raise EtcdBusy("no answer")
        except BaseException:
            self._drop(connection)
            raise
        return stream

    async def _send(self, endpoint: Endpoint, path: str, body: Json, headers: dict[str, str]) -> HttpConnection:
        """Sends a request; returns the connection with a good reply to be read from it."""
        if self.url.user and path != AUTHENTICATE:
            headers = {**headers, "Authorization": self._token or await self._authenticate(endpoint)}
        connection = await self._connection(endpoint)
        try:
            status = await connection.send(path, json.dumps(body, separators=(",", ":")).encode(), headers)
            if status != 200:
                raise read_error(status, await connection.read_all())
        except BaseException:
            self._drop(connection)
            raise
        return connection

    async def _authenticate(self, endpoint: Endpoint) -> str:
        reply = await self._ask(endpoint, AUTHENTICATE, {"name": self.url.user, "password": self.url.password})
        self._token = str(reply["token"])
        return self._token

    async def _connection(self, endpoint: Endpoint) -> HttpConnection:
        while self._idle:
            connection = self._idle.pop()
            if connection.endpoint == endpoint and not connection.is_closed:
                return connection
            self._drop(connection)
        connection = await HttpConnection.open(endpoint, self._tls)
        self._open[connection] = None
        if self._closed:
            self._drop(connection)
        return connection

    def _keep(self, connection: HttpConnection) -> None:
        if connection.renewed() and len(self._idle) < IDLE_MAX and not self._closed:
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: HttpConnection) -> None:
        self._open.pop(connection, None)
        connection.abort()
