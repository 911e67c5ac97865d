"""Logins by tokens: whose session it is, within what scope, and until when.

    PLAIN, OAUTHBEARER    the token itself, in place of a password
    SCRAM                 the id of a delegation token, and its key as the password (`tokenauth=true`, as Kafka has it);
                          or all of a scoped token up to its last dot, and what is behind it as the password

A token that is unknown, revoked or expired is refused as one whose signature is wrong.
"""

from collections.abc import Callable
from typing import Final

from headrace.base.clock import Clock
from headrace.broker.security.login import Login
from headrace.cluster.entities import ScramCredential, Token
from headrace.cluster.image import Image
from headrace.security.refusal import LoginRefused
from headrace.security.revocation import fingerprints
from headrace.security.scope import Scope
from headrace.security.scoped_tokens import (
    PREFIX,
    BadToken,
    ScopedToken,
    genuine_signature,
    is_genuine,
    parse_name,
    parse_token,
    signature_text,
)
from headrace.security.tokens import TOKENS, key_of, password_of, token_credential

_USER: Final = "User:"


def is_scoped(credential: str) -> bool:
    """Whether a password, bearer token or user name is a scoped token, or the beginning of one."""
    return credential.startswith(PREFIX)


class TokenLogins:
    def __init__(self, image: Callable[[], Image], clock: Clock) -> None:
        self._image = image
        self._clock = clock

    def by_text(self, text: str, acts_as: str = "") -> Login:
        """The login of who sent a scoped token itself."""
        try:
            token = parse_token(text)
            scope = token.scope
        except BadToken as error:
            raise LoginRefused(f"a scoped token is refused: {error}") from None
        if not is_genuine(token, key_of(self._secret, token.id)):
            raise LoginRefused(f"the signature of scoped token {token.id} is wrong")
        login = self._login(token.id, scope, fingerprints(token, key_of(self._secret, token.id)))
        if acts_as not in ("", login.user):
            raise LoginRefused(f"a token of user {login.user!r} is to act as another")
        return login

    def by_name(self, name: str) -> Login:
        """The login of who has proven a token by SCRAM."""
        if not is_scoped(name):
            return self._login(name, Scope())
        try:
            token = parse_name(name)
            return self._login(token.id, token.scope, fingerprints(token, key_of(self._secret, token.id)))
        except BadToken as error:
            raise LoginRefused(f"a scoped token is refused: {error}") from None

    def credential(self, name: str, mechanism: str) -> ScramCredential:
        """The proof of a token in SCRAM, made in milliseconds; whether there is such a token, `by_name` says."""
        secret = self._secret
        return token_credential(secret, name, _password(secret, name), mechanism)

    def _login(self, token_id: str, scope: Scope, narrowings: tuple[str, ...] = ()) -> Login:
        token = self._image().tokens.get(token_id)
        if token is None:
            raise LoginRefused(f"token {token_id} was revoked, or there was none")
        if not set(narrowings).isdisjoint(token.revoked):
            raise LoginRefused(f"token {token_id}, as it was narrowed, was revoked")
        now_ms, ends_ms = self._clock.now().wall, _ends_ms(token, scope)
        if now_ms >= ends_ms:
            raise LoginRefused(f"token {token_id} has expired")
        return Login(token.owner.removeprefix(_USER), ends_ms - now_ms, token_id, scope, narrowings)

    @property
    def _secret(self) -> bytes:
        secret = self._image().secrets.get(TOKENS)
        if secret is None:
            raise LoginRefused("the secret of tokens is gone from the metadata store; brokers make it as they start")
        return secret.value


def _ends_ms(token: Token, scope: Scope) -> int:
    ends_ms = min(token.expires_ms, token.max_ms)
    return ends_ms if scope.until_ms is None else min(ends_ms, scope.until_ms)


def _password(secret: bytes, name: str) -> str:
    scoped = _scoped(name)
    if scoped is None:
        return password_of(key_of(secret, name))
    return signature_text(genuine_signature(scoped, key_of(secret, scoped.id)))


def _scoped(name: str) -> ScopedToken | None:
    try:
        return parse_name(name) if is_scoped(name) else None
    except BadToken:
        return None
