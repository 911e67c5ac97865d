"""Revocations of narrowed tokens: one ends with all that were narrowed from it, and what it was narrowed from goes on.

    key ─▶ signature of the whole token ─▶ … of its first caveat ─▶ … of its second ─▶ …
                                                │                        │
                                           fingerprint              fingerprint      of which none may be revoked

A token's fingerprints are made anew at each login, of the caveats that it says and the key that brokers know: who narrows a
revoked token further, or writes it in another way, does not get rid of the one that is revoked. They are kept with the
delegation token, and so until it ends. No signature can be made of one.
"""

import hashlib
from typing import Final

from headrace.base.errors import Refused
from headrace.cluster.entities import Token
from headrace.cluster.image import Image
from headrace.security.scoped_tokens import PREFIX, BadToken, ScopedToken, parse_name, signatures
from headrace.wire.codes import ErrorCode

REVOKED_MAX: Final = 200
"""Revocations that are kept with one delegation token."""
_PURPOSE: Final = b"headrace revoked token 1\0"


def fingerprints(token: ScopedToken, key: bytes) -> tuple[str, ...]:
    """The fingerprints of the token and of all that it was narrowed from, the widest first; none of one without caveats."""
    return tuple(hashlib.sha256(_PURPOSE + signature).hexdigest()[:32] for signature in signatures(token, key)[1:])


def is_narrowed(presented: bytes) -> bool:
    """Whether the name of a scoped token was given, in place of a key or an id."""
    return presented.startswith(PREFIX.encode())


def named_token(presented: bytes) -> ScopedToken:
    try:
        return parse_name(presented.decode("ascii", errors="replace"))
    except BadToken as error:
        raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, str(error)) from None


def token_of(image: Image, narrowed: ScopedToken) -> Token:
    token = image.tokens.get(narrowed.id)
    if token is None:
        raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "there is no such token")
    return token


def with_revoked(token: Token, narrowed: ScopedToken, key: bytes) -> Token | None:
    """The delegation token without what was narrowed from it so; None if nothing was narrowed, and all of it ends."""
    if not narrowed.caveats:
        return None
    last = fingerprints(narrowed, key)[-1]
    if last in token.revoked:
        return token
    if len(token.revoked) >= REVOKED_MAX:
        why = f"{REVOKED_MAX} tokens narrowed from token {token.id} are revoked already; revoke all of it by its id"
        raise Refused(ErrorCode.POLICY_VIOLATION, why)
    return token._replace(revoked=(*token.revoked, last))
