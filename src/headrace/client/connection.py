"""One connection to a broker: requests out, responses matched by correlation id, each with a deadline.

A response ends up in a buffer of its own, so the records in it stay valid as long as somebody holds them; a small one
comes with a single read and is copied there. A connection that fails once is finished: whoever used it opens another.

A login that is good for a while only (KIP-368) is renewed between two requests: new ones wait until those that are out are
answered, and the broker has taken us again. It is the next request that begins this, so an idle connection does nothing.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from math import inf
from struct import Struct
from typing import Any, NamedTuple, TypeVar, cast

from headrace.base.errors import PeerError, Refused
from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.frame import parse_response_header, request_frame
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from headrace.wire.schema import Request, Response

_LENGTH = Struct(">i")
RESPONSE_BYTES_MAX = 256 << 20
SMALL_BUFFER = 4096
_LOGIN_KEYS = (SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY)

R = TypeVar("R", bound=Response)


class Disconnected(Exception):
    """The other side is gone, or did not answer in time. What it did with the request is unknown."""


class InFlight(NamedTuple):
    response: type[Response]
    version: int
    answer: asyncio.Future[Any]
    deadline: float


class ClientConnection(asyncio.BufferedProtocol):
    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._transport: asyncio.Transport | None = None
        self._next_id = 0
        self._asked: dict[int, InFlight] = {}
        self._loop = asyncio.get_running_loop()
        # One for the earliest deadline. An answer leaves it alone, so a request that is answered in time costs no timer.
        self._timer: asyncio.TimerHandle | None = None
        self._small = memoryview(bytearray(SMALL_BUFFER))
        # Where the next bytes go: the small buffer, or the one of a response that is too large for it.
        self._target = self._small
        self._filled = 0
        self._lost = False
        self._renew_at = inf
        self._log_in: Callable[[], Awaitable[None]] | None = None
        self._renewal: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, host: str, port: int, client_id: str, seconds_max: float, tls: ssl.SSLContext | None = None
    ) -> "ClientConnection":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds_max):
                _, connection = await loop.create_connection(lambda: cls(client_id), host, port, ssl=tls)
        except (OSError, TimeoutError) as error:
            raise Disconnected(f"cannot connect to {host}:{port}: {error or 'no answer'}") from error
        return connection

    async def ask(self, request: Request, response: type[R], version: int, seconds_max: float) -> R:
        now = self._loop.time()
        if now >= self._renew_at and request.API_KEY not in _LOGIN_KEYS:
            await self._login_renewed(seconds_max)
            now = self._loop.time()
        if self._lost or self._transport is None:
            raise Disconnected("the connection is closed")
        self._next_id += 1
        correlation_id = self._next_id
        asked = InFlight(response, version, self._loop.create_future(), now + seconds_max)
        self._asked[correlation_id] = asked
        self._watch(asked.deadline)
        # Record batches go out as they lie: to join them would copy every byte once more.
        self._transport.writelines(request_frame(request, version, correlation_id, self._client_id))
        try:
            return cast(R, await asked.answer)
        finally:
            self._asked.pop(correlation_id, None)

    def renew_login(self, seconds: float, log_in: Callable[[], Awaitable[None]]) -> None:
        """Has the first request after so many seconds log in again before it; `log_in` calls this anew."""
        self._renew_at = self._loop.time() + seconds
        self._log_in = log_in

    async def _login_renewed(self, seconds_max: float) -> None:
        if self._renewal is None:
            self._renewal = self._loop.create_task(self._renew())
            # Whoever waits is told; if nobody does any more, the connection is closed all the same.
            self._renewal.add_done_callback(lambda task: task.cancelled() or task.exception())
        renewal = self._renewal
        # One request that is given up does not take the login from the others.
        done, _ = await asyncio.wait([renewal], timeout=seconds_max)
        if not done:
            late = Disconnected("the login was not renewed in time")
            self._fail(late)
            raise late
        renewal.result()

    async def _renew(self) -> None:
        assert self._log_in is not None
        try:
            if self._asked:
                await asyncio.wait([asked.answer for asked in self._asked.values()])
            await self._log_in()
        except Refused as refusal:
            lost = Disconnected(f"the login was not renewed: {refusal.message}")
            self._fail(lost)
            raise lost from refusal
        except BaseException:
            self.close()
            raise
        finally:
            self._renewal = None

    def _watch(self, deadline: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= deadline:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._on_deadline)

    def _on_deadline(self) -> None:
        self._timer = None
        if not self._asked:
            return
        first = min(self._asked.values(), key=lambda asked: asked.deadline)
        if first.deadline <= self._loop.time():
            self._fail(Disconnected(f"no {first.response.__name__} in time"))
        else:
            self._watch(first.deadline)

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
        try:
            if self._target is self._small:
                self._read_small()
            elif self._filled == len(self._target):
                body, self._target, self._filled = self._target, self._small, 0
                self._on_response(body)
        except PeerError as error:
            self._fail(Disconnected(str(error)))

    def _read_small(self) -> None:
        position = 0
        while self._filled - position >= 4:
            (size,) = _LENGTH.unpack_from(self._small, position)
            if not 4 <= size <= RESPONSE_BYTES_MAX:
                raise PeerError(f"response of {size} bytes")
            begin = position + 4
            here = min(size, self._filled - begin)
            if here < size and begin + size <= SMALL_BUFFER:
                break
            body = memoryview(bytearray(size))
            body[:here] = self._small[begin : begin + here]
            if here < size:
                self._target, self._filled = body, here
                return
            position = begin + size
            self._on_response(body)
        if position:
            self._filled -= position
            self._small[: self._filled] = self._small[position : position + self._filled]

    def _on_response(self, body: memoryview) -> None:
        (correlation_id,) = _LENGTH.unpack_from(body)
        asked = self._asked.get(correlation_id)
        if asked is None or asked.answer.done():
            # Its caller gave up; the answer is of no use any more.
            return
        _, position = parse_response_header(APIS[asked.response.API_KEY], asked.version, body)
        asked.answer.set_result(decode(asked.response, asked.version, body, position))

    def _fail(self, error: Disconnected) -> None:
        if self._lost:
            return
        self._lost = True
        if self._transport is not None:
            self._transport.abort()
        if self._timer is not None:
            self._timer.cancel()
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(error)
