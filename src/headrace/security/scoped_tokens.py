"""Scoped tokens: delegation tokens narrowed by caveats, which anybody can add who has one, and nobody can take away.

    key of a delegation token ─HMAC(its id)─▶ signature ─HMAC(caveat)─▶ signature ─HMAC(caveat)─▶ …

    hrt1.{id and caveats, JSON in base64url}.{the last signature, base64url}

Whoever has a token has only the last signature: the next one can be made of it, the one before cannot. The brokers know the
key and make all of them again. The JSON has one form only, so that what is signed is what is read.
"""

import binascii
import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from headrace.security.scope import BadCaveat, Scope, scope_of

PREFIX: Final = "hrt1."
TEXT_MAX: Final = 16_384
CAVEATS_MAX: Final = 32
SIGNATURE_BYTES: Final = 32

_DIGEST: Final = "sha256"
_PURPOSE: Final = b"headrace scoped token 1\0"
_ANY: Final = re.compile(rf"{re.escape(PREFIX)}[\w.-]*", re.ASCII)
_OTHER_FORM: Final = "the token is written in another form than tokens are"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)

Caveat = Mapping[str, Any]


class BadToken(ValueError):
    """A text that is no scoped token, or none that this release understands. Says why, and shows nothing of it."""


class ScopedToken(NamedTuple):
    id: str
    caveats: tuple[Caveat, ...]
    signature: bytes

    def __repr__(self) -> str:
        return f"ScopedToken({self.id!r}, ***)"

    @property
    def text(self) -> str:
        """The token as it is handed on: a secret."""
        return f"{self.name}.{_encoded(self.signature)}"

    @property
    def name(self) -> str:
        """All of the token that is no secret: whose caveats these are."""
        return PREFIX + _encoded(_canonical({"id": self.id, "caveats": list(self.caveats)}))

    @property
    def scope(self) -> Scope:
        """Raises BadToken for a caveat that is not understood: then the token is good for nothing."""
        try:
            return scope_of(self.caveats)
        except BadCaveat as error:
            raise BadToken(str(error)) from None


def whole_token(token_id: str, key: bytes) -> ScopedToken:
    """The token without caveats, of whoever has a delegation token."""
    return ScopedToken(token_id, (), hmac.digest(key, _PURPOSE + token_id.encode(), _DIGEST))


def narrowed(token: ScopedToken, caveats: Iterable[Caveat]) -> ScopedToken:
    """The token with further caveats; BadToken for those that no broker would understand."""
    caveats = tuple(caveats)
    found = ScopedToken(token.id, (*token.caveats, *caveats), _chained(token.signature, caveats))
    if len(found.caveats) > CAVEATS_MAX or len(found.text) > TEXT_MAX:
        raise BadToken(f"a token has at most {CAVEATS_MAX} caveats, and {TEXT_MAX} characters")
    try:
        scope_of(caveats)
    except BadCaveat as error:
        raise BadToken(str(error)) from None
    return found


def genuine_signature(token: ScopedToken, key: bytes) -> bytes:
    """The signature of all its caveats, under the key of the delegation token."""
    return signatures(token, key)[-1]


def signatures(token: ScopedToken, key: bytes) -> list[bytes]:
    """The signature of the whole token, and one for each of its caveats, with those before it."""
    found = [whole_token(token.id, key).signature]
    for caveat in token.caveats:
        found.append(_chained(found[-1], (caveat,)))
    return found


def is_genuine(token: ScopedToken, key: bytes) -> bool:
    return hmac.compare_digest(genuine_signature(token, key), token.signature)


def hidden(text: str) -> str:
    """A text for a log, without the tokens that somebody may have put where a name belongs."""
    return _ANY.sub(f"{PREFIX}***", text)


def signature_text(signature: bytes) -> str:
    """The last part of a token: its password where it logs in by SCRAM, as the user that the parts before it name."""
    return _encoded(signature)


def parse_token(text: str) -> ScopedToken:
    """A token as its text says, not yet proven to be genuine; else BadToken."""
    name, _, signature = text.rpartition(".")
    token = parse_name(name)._replace(signature=_decoded(signature))
    if len(token.signature) != SIGNATURE_BYTES or token.text != text:
        raise BadToken(_OTHER_FORM)
    return token


def parse_name(name: str) -> ScopedToken:
    """A token without its signature, from its parts before it."""
    if not name.startswith(PREFIX) or len(name) > TEXT_MAX:
        raise BadToken(f"no scoped token: one begins with {PREFIX}, has three parts, and at most {TEXT_MAX} characters")
    try:
        token = _read(json.loads(_decoded(name.removeprefix(PREFIX))))
        if token.name != name:
            raise BadToken(_OTHER_FORM)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, BadToken) else BadToken("the token holds no JSON") from None
    return token


def _read(content: object) -> ScopedToken:
    match content:
        case {"id": str(token_id), "caveats": list(caveats), **rest} if not rest and _ID.fullmatch(token_id):
            if len(caveats) <= CAVEATS_MAX and all(isinstance(each, dict) for each in caveats):
                return ScopedToken(token_id, tuple(caveats), b"")
    raise BadToken("the token holds other things than an id and caveats")


def _chained(signature: bytes, caveats: Iterable[Caveat]) -> bytes:
    for caveat in caveats:
        signature = hmac.digest(signature, _canonical(caveat), _DIGEST)
    return signature


def _canonical(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()


def _encoded(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        return urlsafe_b64decode(f"{text}{'=' * (-len(text) % 4)}".encode("ascii"))
    except (UnicodeEncodeError, binascii.Error):
        raise BadToken("the token is no base64") from None
