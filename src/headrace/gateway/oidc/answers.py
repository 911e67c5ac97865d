"""The rules for what a provider answers: its description, and the two tokens of a log-in. Pure; signatures hold already."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from headrace.base.errors import UserError
from headrace.identity.claims import ClaimRules, LoginRefused, check_claims

CLOCK_SKEW_SECONDS = 30
_NAMES = ("preferred_username", "email", "name", "sub")


class Endpoints(NamedTuple):
    authorization: str
    token: str
    jwks: str
    end_session: str
    """Empty where it offers none."""


class Expected(NamedTuple):
    issuer: str
    client_id: str
    audience: str
    """The audience of access tokens, which brokers expect too."""


class LoggedIn(NamedTuple):
    name: str
    """The name that a page shows; who it is, brokers tell by the access token."""
    lifetime_seconds: float


def endpoints(described: Any, issuer: str) -> Endpoints:
    """UserError for a description that is of another issuer, or would have secrets cross the network in the open."""
    if not isinstance(described, dict) or described.get("issuer") != issuer:
        raise _unusable(issuer, "it does not describe this issuer")
    methods = described.get("code_challenge_methods_supported", ["S256"])
    if not isinstance(methods, list) or "S256" not in methods:
        raise _unusable(issuer, "it knows no PKCE with S256")
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri", "end_session_endpoint")
    authorization, token, jwks, end = (_https_url(described.get(name)) for name in names)
    if not (authorization and token and jwks):
        raise _unusable(issuer, "its endpoints are no https URLs")
    return Endpoints(authorization, token, jwks, end)


def _https_url(told: object) -> str:
    """Empty for what is none."""
    if not isinstance(told, str):
        return ""
    url = urlsplit(told)
    return told if url.scheme == "https" and url.hostname else ""


def _unusable(issuer: str, why: str) -> UserError:
    return UserError(f"the OpenID provider {issuer} cannot be used: {why}", "see the setting oidc_issuer")


def check_tokens(
    id_claims: Mapping[str, Any],
    access_claims: Mapping[str, Any],
    access_token: str,
    nonce: str,
    expected: Expected,
    now_ms: int,
) -> LoggedIn:
    """`LoginRefused` when they are not of this log-in, of this provider, and of one and the same user."""
    own = ClaimRules(expected.issuer, frozenset({expected.client_id}), CLOCK_SKEW_SECONDS)
    check_claims(id_claims, own, now_ms)
    if not hmac.compare_digest(str(id_claims.get("nonce", "")).encode(), nonce.encode()):
        raise LoginRefused("the ID token is of another log-in (nonce)")
    audience = id_claims.get("aud")
    is_shared = isinstance(audience, list) and len(audience) > 1
    if id_claims.get("azp", None if is_shared else expected.client_id) != expected.client_id:
        raise LoginRefused("the ID token was given to another client (azp)")
    if "at_hash" in id_claims and id_claims["at_hash"] not in _hashes(access_token):
        raise LoginRefused("the ID token is of another access token (at_hash)")
    brokers = ClaimRules(expected.issuer, frozenset({expected.audience}), CLOCK_SKEW_SECONDS)
    claimed = check_claims(access_claims, brokers, now_ms)
    if access_claims["sub"] != id_claims["sub"]:
        raise LoginRefused("the two tokens are of two users")
    name = next(str(id_claims[each]) for each in _NAMES if id_claims.get(each))
    return LoggedIn(name[:100], claimed.lifetime_ms / 1000)


def _hashes(token: str) -> list[str]:
    """The left half of its hash; which hash, the algorithm of the signature says, and all are as good."""
    digests = [hashlib.new(name, token.encode()).digest() for name in ("sha256", "sha384", "sha512")]
    return [base64.urlsafe_b64encode(each[: len(each) // 2]).decode().rstrip("=") for each in digests]
