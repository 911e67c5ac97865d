"""The mechanisms of SASL as exchanges of messages: each message of a client is answered, until somebody is logged in.

What a message means is `headrace.security`'s; here its work is sent to a thread, or chance is added.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

from headrace.base.clock import Clock
from headrace.broker.security.login_work import LoginWork
from headrace.cluster.entities import ScramCredential
from headrace.security.credentials import Credentials, is_password_of
from headrace.security.oauthbearer import GOODBYE, REFUSAL, ClaimRules, check_claims, parse_bearer
from headrace.security.plain import parse_plain
from headrace.security.refusal import LoginRefused
from headrace.security.scram import ScramServer

NONCE_BYTES: Final = 18


class Login(NamedTuple):
    user: str
    lifetime_ms: int | None = None
    """How long the login is good, where its token says so."""


class ServerMessage(NamedTuple):
    token: bytes
    login: Login | None = None


class Exchange(Protocol):
    async def answer(self, token: bytes) -> ServerMessage:
        """The answer to the client's next message; raises `LoginRefused`."""
        ...


Begin = Callable[[], Exchange]


class Verifier(Protocol):
    """Knows the keys that tokens are signed with."""

    async def claims_of(self, token: str) -> dict[str, object]:
        """The claims of a token whose signature is right; else `LoginRefused`."""
        ...


class PlainExchange:
    def __init__(self, credentials: Callable[[], Credentials], work: LoginWork) -> None:
        self._credentials = credentials
        self._work = work

    async def answer(self, token: bytes) -> ServerMessage:
        user, password = parse_plain(token)
        mechanism, credential = self._credentials().for_password(user)
        if not await self._work.do(partial(is_password_of, credential, mechanism, password)):
            raise LoginRefused(f"user {user!r} is unknown, or the password is wrong")
        return ServerMessage(b"", Login(user))


class ScramExchange:
    def __init__(self, mechanism: str, credentials: Callable[[], Credentials], nonce: str) -> None:
        def credential_of(name: str, is_token: bool) -> ScramCredential:
            known = credentials()
            return known.of_nobody(name, mechanism) if is_token else known.of(name, mechanism)

        self._server = ScramServer(mechanism, credential_of, nonce)
        self._began = False

    async def answer(self, token: bytes) -> ServerMessage:
        if not self._began:
            self._began = True
            return ServerMessage(self._server.answer_first(token))
        return ServerMessage(self._server.answer_final(token), Login(self._server.user))


class OauthbearerExchange:
    """A client whose token is not taken is told so in a message of its own, and acknowledges it before it is refused."""

    def __init__(self, verifier: Verifier, rules: ClaimRules, clock: Clock) -> None:
        self._verifier = verifier
        self._rules = rules
        self._clock = clock
        self._refusal: LoginRefused | None = None

    async def answer(self, token: bytes) -> ServerMessage:
        if self._refusal is not None:
            raise self._refusal if token == GOODBYE else LoginRefused(f"{self._refusal}, and its client goes on")
        bearer = parse_bearer(token)
        try:
            claims = await self._verifier.claims_of(bearer.token)
            claimed = check_claims(claims, self._rules, self._clock.now().wall, bearer.acts_as)
        except LoginRefused as refusal:
            self._refusal = refusal
            return ServerMessage(REFUSAL)
        return ServerMessage(b"", Login(claimed.user, claimed.lifetime_ms))
