"""OAUTHBEARER (RFC 7628): the message that carries a token, and the rules for what a token claims.

Signatures are not looked at here: claims come from a token whose signature was verified.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from headrace.security.refusal import LoginRefused

GOODBYE: Final = b"\x01"
"""The client's answer to the reason of a refusal."""
REFUSAL: Final = json.dumps({"status": "invalid_token"}).encode()
"""The reason that a client is told: that its token is not taken, and no more."""

_EXTENSION: Final = re.compile(r"([A-Za-z]+)=([\x20-\x7e\t\r\n]*)")
_TOKEN: Final = re.compile(r"Bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


class Bearer(NamedTuple):
    token: str
    acts_as: str


class ClaimRules(NamedTuple):
    """The claims that a token must make, to be taken here."""

    issuer: str
    audiences: frozenset[str]
    clock_skew_seconds: int
    name_claim: str = "sub"
    scope_claim: str = "scope"


class Claimed(NamedTuple):
    user: str
    lifetime_ms: int
    """How long the token is good from now on."""


def parse_bearer(message: bytes) -> Bearer:
    """The token of `n,[a=NAME],^Aauth=Bearer TOKEN^A[NAME=VALUE^A]*^A`."""
    try:
        header, *pairs = message.decode("ascii").split("\x01")
    except UnicodeDecodeError:
        raise LoginRefused("an OAUTHBEARER message that is no ASCII") from None
    found = re.fullmatch(r"n,(?:a=([^,]*))?,", header)
    if found is None or len(pairs) < 3 or pairs[-2:] != ["", ""]:
        raise LoginRefused("the OAUTHBEARER message is malformed")
    named = [_EXTENSION.fullmatch(pair) for pair in pairs[:-2]]
    values = {each[1]: each[2] for each in named if each is not None}
    token = _TOKEN.fullmatch(values.get("auth", ""))
    if None in named or len(values) < len(named) or token is None:
        raise LoginRefused("the OAUTHBEARER message is malformed")
    acts_as = (found[1] or "").replace("=2C", ",").replace("=3D", "=")
    return Bearer(token[1], acts_as)


def check_claims(claims: Mapping[str, Any], rules: ClaimRules, now_ms: int, acts_as: str = "") -> Claimed:
    """The user of a token, and for how long; `LoginRefused` when a rule is broken. Times are the issuer's, in seconds."""
    now, skew = now_ms / 1000, rules.clock_skew_seconds
    expires, issued = _time(claims, "exp"), _time(claims, "iat")
    if now >= expires + skew:
        raise LoginRefused("the token has expired")
    if issued > now + skew or issued > expires:
        raise LoginRefused("the token was issued in the future")
    if "nbf" in claims and _time(claims, "nbf") > now + skew:
        raise LoginRefused("the token is not valid yet")
    if claims.get("iss") != rules.issuer:
        raise LoginRefused("the token has another issuer than sasl.oauthbearer.expected.issuer")
    if not rules.audiences & set(_words(claims.get("aud"))):
        raise LoginRefused("the token is for another audience than sasl.oauthbearer.expected.audience")
    _check_scope(claims, rules)
    user = _user(claims, rules)
    if acts_as not in ("", user):
        raise LoginRefused(f"user {user!r} wants to act as another")
    # A token that is good only because clocks differ is good until it would no longer be taken.
    left = expires - now if expires > now else expires + skew - now
    return Claimed(user, max(1, int(left * 1000)))


def _check_scope(claims: Mapping[str, Any], rules: ClaimRules) -> None:
    scope = claims.get(rules.scope_claim, "")
    if not isinstance(scope, str | list) or (isinstance(scope, list) and not all(isinstance(x, str) for x in scope)):
        raise LoginRefused(f"the claim {rules.scope_claim} of the token is neither text nor a list of texts")


def _user(claims: Mapping[str, Any], rules: ClaimRules) -> str:
    # Who the token is about must be said even where another claim has the name.
    for name in ("sub", rules.name_claim):
        if not isinstance(claims.get(name), str) or not claims[name].strip():
            raise LoginRefused(f"the token has no claim {name}")
    user: str = claims[rules.name_claim]
    return user


def _time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise LoginRefused(f"the token has no claim {name}, or one that is no time")
    return value


def _words(claim: object) -> list[str]:
    found = claim if isinstance(claim, list) else [claim]
    return [each for each in found if isinstance(each, str)]
