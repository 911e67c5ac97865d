"""The gate before a connection that nobody has logged in on: all but a login is refused unread.

    ApiVersions? ─▶ SaslHandshake ─▶ message ─▶ answer ─▶ … ─▶ logged in: the listener's dispatcher takes the next request
                          └ v0: messages without headers     └─▶ or refused: told after a moment, and closed

The same gate stands in the way of a client that logs in again (KIP-368); the mechanism and the user must be the same.
A login has a deadline (`Connection.login_by`), and its messages are small.
"""

import asyncio
import logging
from collections.abc import Mapping
from math import inf
from struct import Struct
from typing import Final, NamedTuple

from headrace.base.errors import PeerError
from headrace.base.probe import Probes
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection import Connection, Dispatcher
from headrace.broker.net.outbox import Chunk
from headrace.broker.net.requests_in_order import Pending
from headrace.broker.security.login import Login
from headrace.broker.security.mechanisms import Begin, Exchange
from headrace.broker.security.token_rights import TokenRights
from headrace.security.refusal import LoginRefused
from headrace.security.scoped_tokens import hidden
from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.codes import ErrorCode
from headrace.wire.frame import API_VERSIONS_KEY, RequestHeader, parse_request_header, response_frame
from headrace.wire.messages.api_versions import ApiVersionsResponse
from headrace.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from headrace.wire.schema import Response

logger = logging.getLogger("headrace.login")

_KEY_AND_VERSION: Final = Struct(">hh")
_SIZE: Final = Struct(">i")
HANDSHAKE_KEY: Final = SaslHandshakeRequest.API_KEY
AUTHENTICATE_KEY: Final = SaslAuthenticateRequest.API_KEY
RAW_VERSION: Final = 0
# All messages together that logins are waited for with.
STRANGERS_BYTES_MAX: Final = 16 << 20
LAST_WORD_SECONDS: Final = 0.1
# Names and tokens in it may be as long as a message.
CAUSE_MAX: Final = 300
AGAIN_SECONDS_MIN: Final = 1.0


class GateSettings(NamedTuple):
    login_seconds_max: float
    """How long a login may take."""
    frame_bytes_max: int
    refusal_seconds: float
    """How long the answer to a failed login waits."""
    session_ms_max: Mapping[str, int]
    """Mechanism → how long a login by it is good; 0 for ever."""


class LoginGates:
    """The gates of a listener: one before each connection."""

    def __init__(
        self,
        inner: Dispatcher,
        mechanisms: Mapping[str, Begin],
        settings: GateSettings,
        probes: Probes,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.inner = inner
        self.mechanisms = mechanisms
        self.settings = settings
        self.probes = probes
        self.loop = loop
        # Of their own, so that strangers never hold the buffers that users wait for.
        self.budget = Budget(STRANGERS_BYTES_MAX)

    def stand_before(self, connection: Connection) -> None:
        Gate(self, connection)


class LoginSession:
    """The time between two logins on one connection: requests go through until it is over."""

    __slots__ = ("_began_at", "_ends_at", "_gates", "_inner", "mechanism")

    def __init__(self, gates: LoginGates, mechanism: str, began_at: float, ends_at: float) -> None:
        """`began_at` is when the client asked to log in again, if it did."""
        self.mechanism = mechanism
        self._gates = gates
        self._inner = gates.inner
        self._began_at = began_at
        self._ends_at = ends_at

    def dispatch(self, connection: Connection, frame: memoryview) -> None:
        # What has arrived in time is answered, so no clock is asked.
        if connection.frames.last_received > self._ends_at and not _is_handshake(frame):
            fields = {"peer": connection.peer, "request": _api_name(frame)}
            logger.info("closing a connection: its login is over, and its client did not log in again", fields)
            connection.close()
        else:
            self._inner.dispatch(connection, frame)

    def log_in_again(self, connection: Connection, mechanism: str, version: int) -> SaslHandshakeResponse:
        """The answer to SaslHandshake amid a session, which begins the next one; at most once a second."""
        if version == RAW_VERSION or self._gates.loop.time() < self._began_at + AGAIN_SECONDS_MIN:
            return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, [])
        gate = Gate(self._gates, connection, self)
        response = gate.shake(mechanism)
        if response.error_code:
            connection.requests.run(
                gate.end(connection, [], f"{self.mechanism} is to become {mechanism!r} amid a session")
            )
        return response


class Gate:
    """One login on one connection."""

    def __init__(self, gates: LoginGates, connection: Connection, session: LoginSession | None = None) -> None:
        """`session` is the one that a client prolongs by logging in again."""
        self._gates = gates
        self._session = session
        self._began_at = -inf if session is None else gates.loop.time()
        frames = connection.frames
        self._allowed = frames.frame_bytes_max, frames.limited_by
        self._budget = frames.budget
        self._greeted = session is not None
        self._is_raw = False
        self._mechanism = ""
        self._exchange: Exchange | None = None
        frames.move_to_budget(gates.budget)
        frames.frame_bytes_max = min(frames.frame_bytes_max, gates.settings.frame_bytes_max)
        frames.limited_by = "sasl.server.max.receive.size"
        connection.dispatcher = self
        connection.login_by = gates.loop.time() + gates.settings.login_seconds_max

    def dispatch(self, connection: Connection, frame: memoryview) -> None:
        if self._is_raw:
            connection.requests.run(self._answer_raw(connection, bytes(frame)))
            return
        if len(frame) < _KEY_AND_VERSION.size:
            raise PeerError("a request without a header before a login")
        key, version = _KEY_AND_VERSION.unpack_from(frame)
        take = _TAKES.get(key)
        if take is None:
            raise PeerError(f"API {key} before a login: this listener wants one (security.protocol=SASL_…)")
        take(self, connection, version, frame)

    # -- the three requests ----------------------------------------------------------------------------------------

    def _greet(self, connection: Connection, version: int, frame: memoryview) -> None:
        """ApiVersions: once, and first; asked in a version that we do not know, it may be asked again."""
        if self._exchange is not None:
            self._refuse(
                connection, frame, ApiVersionsResponse(ErrorCode.ILLEGAL_SASL_STATE), "ApiVersions amid a login"
            )
            return
        if self._greeted:
            raise PeerError("ApiVersions a second time before a login")
        self._greeted = _is_known(API_VERSIONS_KEY, version)
        self._gates.inner.dispatch(connection, frame)

    def _shake(self, connection: Connection, version: int, frame: memoryview) -> None:
        _, _, correlation_id, _, position = _header(HANDSHAKE_KEY, version, frame)
        if self._exchange is not None:
            refusal = SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, [])
            self._refuse(connection, frame, refusal, "SaslHandshake amid a login")
            return
        body = decode(SaslHandshakeRequest, version, frame, position)
        response = self.shake(body.mechanism)
        if not response.error_code:
            self._is_raw = version == RAW_VERSION
            connection.requests.reply(response_frame(response, version, correlation_id))
        else:
            self._refuse(connection, frame, response, f"mechanism {body.mechanism!r} is not offered")

    def shake(self, mechanism: str) -> SaslHandshakeResponse:
        """Begins the exchange, if the mechanism is offered."""
        begin = self._gates.mechanisms.get(mechanism)
        if self._session is not None and mechanism != self._session.mechanism:
            code = ErrorCode.ILLEGAL_SASL_STATE
        elif begin is None:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        else:
            code = ErrorCode.NONE
            self._mechanism, self._exchange, self._greeted = mechanism, begin(), True
        return SaslHandshakeResponse(code, list(self._gates.mechanisms))

    def _authenticate(self, connection: Connection, version: int, frame: memoryview) -> None:
        _, _, correlation_id, _, position = _header(AUTHENTICATE_KEY, version, frame)
        if self._exchange is None:
            raise PeerError("SaslAuthenticate without SaslHandshake")
        body = decode(SaslAuthenticateRequest, version, frame, position)
        connection.requests.run(self._answer(connection, bytes(body.auth_bytes), version, correlation_id))

    # -- the exchange ----------------------------------------------------------------------------------------------

    async def _answer(self, connection: Connection, token: bytes, version: int, correlation_id: int) -> None:
        try:
            answered, lifetime_ms = await self._step(connection, token)
        except LoginRefused as refusal:
            told = refusal.told or f"the login was refused ({self._mechanism}): its credentials are not right"
            response = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, told)
            await self.end(connection, response_frame(response, version, correlation_id), str(refusal))
            return
        response = SaslAuthenticateResponse(0, None, answered, lifetime_ms)
        connection.requests.reply(response_frame(response, version, correlation_id))

    async def _answer_raw(self, connection: Connection, token: bytes) -> None:
        try:
            answered, _ = await self._step(connection, token)
        except LoginRefused as refusal:
            await self.end(connection, [], str(refusal))
            return
        connection.requests.reply([_SIZE.pack(len(answered)) + answered])

    async def _step(self, connection: Connection, token: bytes) -> tuple[bytes, int]:
        """Our next message, and the lifetime of the login if this was the last one."""
        assert self._exchange is not None
        answer = await self._exchange.answer(token)
        return answer.token, 0 if answer.login is None else self._let_in(connection, answer.login)

    def _let_in(self, connection: Connection, login: Login) -> int:
        """Gives the connection to its requests; the lifetime of its login in ms, 0 for ever."""
        gates, principal = self._gates, f"User:{login.user}"
        if self._session is not None and principal != connection.principal:
            raise LoginRefused(f"{connection.principal} wants to go on as {principal}")
        sign_in(connection, principal, login)
        connection.login_by = inf
        frames = connection.frames
        frames.frame_bytes_max, frames.limited_by = self._allowed
        frames.move_to_budget(self._budget)
        gates.probes.logins += 1
        lifetimes = [each for each in (gates.settings.session_ms_max[self._mechanism], login.lifetime_ms) if each]
        if not lifetimes:
            connection.dispatcher = gates.inner
            return 0
        lifetime_ms = min(lifetimes)
        ends_at = gates.loop.time() + lifetime_ms / 1000
        connection.dispatcher = LoginSession(gates, self._mechanism, self._began_at, ends_at)
        return lifetime_ms

    # -- refusals --------------------------------------------------------------------------------------------------

    def _refuse(self, connection: Connection, frame: memoryview, response: Response, cause: str) -> None:
        _, version, correlation_id, _, _ = parse_request_header(frame)
        connection.requests.run(self.end(connection, response_frame(response, version, correlation_id), cause))

    async def end(self, connection: Connection, chunks: list[Chunk], cause: str) -> None:
        """Closes after a moment, so that guessing takes its time, and tells the client why."""
        self._gates.probes.logins_refused += 1
        fields = {"cause": hidden(cause)[:CAUSE_MAX], "peer": connection.peer, "request": "SaslAuthenticate"}
        logger.warning("a login is refused: %(cause)s", fields)
        await asyncio.sleep(self._gates.settings.refusal_seconds)
        if chunks:
            # Some clients read nothing any more once they see the end: it comes a moment after the answer.
            last = Pending(connection.requests, lambda answer: answer)
            connection.requests.owe(last)
            last.complete(chunks)
            await asyncio.sleep(LAST_WORD_SECONDS)
        connection.close_when_answered()


def sign_in(connection: Connection, principal: str, login: Login) -> None:
    """Gives a connection the rights of its user, or what a token leaves of them."""
    if login.scope is not None and not login.scope.is_from(connection.ip):
        raise LoginRefused(f"scoped token {login.token_id} is not for clients at this address")
    connection.sign_in(principal)
    if login.scope is not None:
        connection.rights = TokenRights(connection.rights, login.token_id, login.scope, login.fingerprints)
        # What is kept for it, as a fetch session, is for nobody with other rights.
        connection.credential = f"{principal} by {login.token_id} {''.join(login.fingerprints[-1:])}"


_TAKES: Final = {API_VERSIONS_KEY: Gate._greet, HANDSHAKE_KEY: Gate._shake, AUTHENTICATE_KEY: Gate._authenticate}


def _header(key: int, version: int, frame: memoryview) -> RequestHeader:
    if not _is_known(key, version):
        raise PeerError(f"{APIS[key].name} version {version} is not offered here")
    return parse_request_header(frame)


def _is_known(key: int, version: int) -> bool:
    return APIS[key].min_version <= version <= APIS[key].max_version


def _is_handshake(frame: memoryview) -> bool:
    return int.from_bytes(frame[:2], "big") == HANDSHAKE_KEY


def _api_name(frame: memoryview) -> str:
    api = APIS.get(int.from_bytes(frame[:2], "big"))
    return "" if api is None else api.name
