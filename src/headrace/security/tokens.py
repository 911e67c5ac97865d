"""Delegation tokens: who may make one, prolong it and end it, and for how long each lives, as Kafka has it.

    key = HMAC-SHA-512(secret of the cluster, id)        told when the token is made, and not kept

Whoever has the key logs in as the owner, by SCRAM or by a scoped token made of it.

Beyond Kafka: who is neither owner nor renewer, and may see a token, is told its id in place of its key; and a token can be
ended by its id, also by who may alter the cluster, so that an administrator can end a token without being able to use it.
"""

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.entities import ScramCredential, Token
from headrace.cluster.image import Image
from headrace.cluster.records import encode, token_key
from headrace.cluster.store import ABSENT, OPERATIONS_MAX, Commit
from headrace.security.credentials import Shape, credential_from, credential_of_nobody, salted_password
from headrace.wire.codes import ErrorCode

TOKENS: Final = "tokens"
"""The name of the secret that keys are made of."""
TOKENS_PER_OWNER_MAX: Final = 1_000
RENEWERS_MAX: Final = 20
PRINCIPAL_LENGTH_MAX: Final = 1_000
TOKEN_SHAPE: Final = Shape(salt_bytes=32, iterations=4_096)


class TokenLimits(NamedTuple):
    lifetime_ms_max: int
    expiry_ms: int
    """How long a token is good that nobody prolongs."""


class TokenRequest(NamedTuple):
    owner: str
    requester: str
    renewers: tuple[str, ...] = ()
    lifetime_ms: int = -1


def key_of(secret: bytes, token_id: str) -> bytes:
    return hmac.digest(secret, token_id.encode(), "sha512")


def fingerprint_of(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:32]


def new_token(token_id: str, asked: TokenRequest, secret: bytes, now_ms: int, limits: TokenLimits) -> Token:
    lifetime_ms = limits.lifetime_ms_max if asked.lifetime_ms <= 0 else min(asked.lifetime_ms, limits.lifetime_ms_max)
    max_ms = now_ms + lifetime_ms
    return Token(
        token_id,
        asked.owner,
        asked.requester,
        asked.renewers,
        now_ms,
        min(max_ms, now_ms + limits.expiry_ms),
        max_ms,
        fingerprint_of(key_of(secret, token_id)),
    )


def create_token(image: Image, token: Token) -> list[Commit]:
    of_owner = sum(each.owner == token.owner for each in image.tokens.values())
    if of_owner >= TOKENS_PER_OWNER_MAX:
        why = f"{token.owner} has {of_owner} tokens already; end some (headrace token revoke)"
        raise Refused(ErrorCode.POLICY_VIOLATION, why)
    if len(token.renewers) > RENEWERS_MAX or max(map(len, (token.owner, *token.renewers))) > PRINCIPAL_LENGTH_MAX:
        why = f"a token has at most {RENEWERS_MAX} renewers, and names of at most {PRINCIPAL_LENGTH_MAX} characters"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    return [Commit({token_key(token.id): encode(token)}, {token_key(token.id): ABSENT})]


def renewed(token: Token, period_ms: int, now_ms: int, limits: TokenLimits) -> Token:
    _check_lives(token, now_ms)
    period_ms = limits.expiry_ms if period_ms < 0 else period_ms
    return token._replace(expires_ms=min(token.max_ms, now_ms + period_ms))


def expired(token: Token, period_ms: int, now_ms: int) -> Token | None:
    """The token with another expiry; None for one that ends at once."""
    if period_ms < 0:
        return None
    _check_lives(token, now_ms)
    return token._replace(expires_ms=min(token.max_ms, now_ms + period_ms))


def change_token(before: Token, after: Token | None) -> list[Commit]:
    key = token_key(before.id)
    return [Commit({key: None if after is None else encode(after)}, {key: before.revision})]


def _check_lives(token: Token, now_ms: int) -> None:
    if not is_alive(token, now_ms):
        raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED, f"token {token.id} has expired")


def is_alive(token: Token, now_ms: int) -> bool:
    return now_ms < min(token.expires_ms, token.max_ms)


def is_owner_or_renewer(token: Token, principal: str) -> bool:
    return principal in (token.owner, token.requester, *token.renewers)


def token_by_key(image: Image, presented: bytes) -> Token:
    """The token that a key, or an id, is of."""
    by_id = image.tokens.get(presented.decode("ascii", errors="replace"))
    if by_id is not None:
        return by_id
    fingerprint = fingerprint_of(presented)
    for token in image.tokens.values():
        if token.fingerprint == fingerprint:
            return token
    raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "there is no such token")


def visible_tokens(
    image: Image, principal: str, owners: Collection[str] | None, may_describe: Callable[[Token], bool]
) -> list[Token]:
    """The tokens, of these owners or of all, that a principal may see."""
    return [
        token
        for token in image.tokens.values()
        if (owners is None or any(is_owner_or_renewer(token, owner) for owner in owners))
        and (is_owner_or_renewer(token, principal) or may_describe(token))
    ]


def shown_key(token: Token, principal: str, secret: bytes) -> bytes:
    return key_of(secret, token.id) if is_owner_or_renewer(token, principal) else token.id.encode()


def sweep(image: Image, now_ms: int) -> Iterator[Commit]:
    """The commits that strike off what has expired."""
    gone = [token for token in image.tokens.values() if not is_alive(token, now_ms)]
    for first in range(0, len(gone), OPERATIONS_MAX):
        some = {token_key(each.id): each.revision for each in gone[first : first + OPERATIONS_MAX]}
        yield Commit(dict.fromkeys(some), some)


def password_of(key: bytes) -> str:
    """The key as it is a password in SCRAM."""
    return b64encode(key).decode()


def token_credential(secret: bytes, name: str, password: str, mechanism: str) -> ScramCredential:
    """The credential that proves a token by SCRAM. A derivation that takes milliseconds: not for an event loop."""
    nobody = credential_of_nobody(secret, mechanism, name, TOKEN_SHAPE)
    salted = salted_password(mechanism, password, nobody.salt, nobody.iterations)
    return credential_from(mechanism, salted, nobody.salt, nobody.iterations)
