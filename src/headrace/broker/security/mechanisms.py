"""The mechanisms of SASL as exchanges of messages: each message of a client is answered, until somebody is logged in.

What a message means is `headrace.security`'s; here its work is sent to a thread, or chance is added.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

from headrace.base.clock import Clock
from headrace.broker.security.login import Login
from headrace.broker.security.token_logins import TokenLogins, is_scoped
from headrace.cluster.entities import ScramCredential
from headrace.identity.login_work import LoginWork
from headrace.security.credentials import Credentials, is_password_of
from headrace.security.oauthbearer import GOODBYE, REFUSAL, Bearer, ClaimRules, check_claims, parse_bearer
from headrace.security.plain import parse_plain
from headrace.security.refusal import LoginRefused
from headrace.security.scram import ScramServer, parse_first

NONCE_BYTES: Final = 18


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
    def __init__(self, credentials: Callable[[], Credentials], tokens: TokenLogins, work: LoginWork) -> None:
        self._credentials = credentials
        self._tokens = tokens
        self._work = work

    async def answer(self, token: bytes) -> ServerMessage:
        user, password = parse_plain(token)
        if is_scoped(password):
            return ServerMessage(b"", self._tokens.by_text(password))
        mechanism, credential = self._credentials().for_password(user)
        if not await self._work.do(partial(is_password_of, credential, mechanism, password)):
            raise LoginRefused(f"user {user!r} is unknown, or the password is wrong")
        return ServerMessage(b"", Login(user))


class ScramExchange:
    def __init__(
        self,
        mechanism: str,
        credentials: Callable[[], Credentials],
        tokens: TokenLogins,
        work: LoginWork,
        nonce: str,
    ) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._tokens = tokens
        self._work = work
        self._of_token: ScramCredential | None = None
        self._server = ScramServer(mechanism, self._credential_of, nonce)
        self._began = False

    async def answer(self, token: bytes) -> ServerMessage:
        if not self._began:
            self._began = True
            await self._look_for_token(token)
            return ServerMessage(self._server.answer_first(token))
        answer = self._server.answer_final(token)
        user = self._server.user
        return ServerMessage(answer, Login(user) if self._of_token is None else self._tokens.by_name(user))

    async def _look_for_token(self, message: bytes) -> None:
        first = parse_first(message)
        if first.is_token or is_scoped(first.user):
            make = partial(self._tokens.credential, first.user, self._mechanism)
            self._of_token = await self._work.do(make)

    def _credential_of(self, name: str, is_token: bool) -> ScramCredential:
        assert self._of_token is not None or not is_token, "a token is never taken for a user of its name"
        return self._of_token or self._credentials().of(name, self._mechanism)


class OauthbearerExchange:
    """A client whose token is not taken is told so in a message of its own, and acknowledges it before it is refused."""

    def __init__(self, claims: "TokenClaims | None", tokens: TokenLogins) -> None:
        """`claims` is None where scoped tokens alone are taken."""
        self._claims = claims
        self._tokens = tokens
        self._refusal: LoginRefused | None = None

    async def answer(self, token: bytes) -> ServerMessage:
        if self._refusal is not None:
            raise self._refusal if token == GOODBYE else LoginRefused(f"{self._refusal}, and its client goes on")
        bearer = parse_bearer(token)
        try:
            return ServerMessage(b"", await self._login(bearer))
        except LoginRefused as refusal:
            self._refusal = refusal
            return ServerMessage(REFUSAL)

    async def _login(self, bearer: Bearer) -> Login:
        if is_scoped(bearer.token):
            return self._tokens.by_text(bearer.token, bearer.acts_as)
        if self._claims is None:
            raise LoginRefused("a token of another kind, where scoped tokens alone are taken")
        return await self._claims.login(bearer)


class TokenClaims:
    """The claims of tokens of other issuers (JWT), believed where their signature and our rules say so."""

    def __init__(self, verifier: Verifier, rules: ClaimRules, clock: Clock) -> None:
        self._verifier = verifier
        self._rules = rules
        self._clock = clock

    async def login(self, bearer: Bearer) -> Login:
        claims = await self._verifier.claims_of(bearer.token)
        claimed = check_claims(claims, self._rules, self._clock.now().wall, bearer.acts_as)
        return Login(claimed.user, claimed.lifetime_ms)
