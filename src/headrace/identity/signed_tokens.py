"""The signatures of tokens (JWT): which algorithms there are, and which key is for which.

A token says by which algorithm and key it is signed, and is not believed: the algorithm must be one of a list, and fit
the key, which must be one of those we know. So neither "none" nor a public key taken for a password gets anybody in.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, cast

from headrace.base.extras import explained
from headrace.identity.login_work import LoginWork
from headrace.identity.signing_keys import Jwk, SigningKeys
from headrace.security.refusal import LoginRefused

_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", "")),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", ""),
}
"""Algorithm → the kind of key, and its curve."""
RSA_BITS_MIN: Final = 2_048
_TOKEN: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)


class TokenVerifier:
    def __init__(self, keys: SigningKeys, work: LoginWork) -> None:
        require_library()
        self._keys = keys
        self._work = work

    async def claims_of(self, token: str) -> dict[str, Any]:
        """The claims of a token that one of our keys has signed; else `LoginRefused`."""
        header = header_of(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in _KINDS:
            raise LoginRefused(f"the token is signed by {algorithm!r}, which is none of {', '.join(_KINDS)}")
        if not isinstance(key_id, str):
            raise LoginRefused("the token does not say which key it is signed with (kid)")
        if header.get("crit") is not None:
            raise LoginRefused("the token asks for extensions that are not known (crit)")
        key = await self._keys.of(key_id)
        if key is None:
            raise LoginRefused(f"the token is signed with a key that is not known: {key_id!r}")
        return await self._work.do(partial(verified, token, algorithm, key))


def require_library() -> None:
    """Raises before anybody is let in, with the extra that brings what signatures are checked with."""
    try:
        import cryptography
        import jwt
    except ModuleNotFoundError as missing:
        raise explained(missing) from None
    assert jwt and cryptography


def header_of(token: str) -> dict[str, Any]:
    if not _TOKEN.fullmatch(token):
        raise LoginRefused("the token is no signed JWT")
    return _json_object(_decoded(token.partition(".")[0]))


def verified(token: str, algorithm: str, key: Jwk) -> dict[str, Any]:
    """The claims of a token whose signature is that of this key. Takes a fraction of a millisecond."""
    import jwt

    kind, curve = _KINDS[algorithm]
    if key["kty"] != kind or (curve and key.get("crv") != curve) or key.get("alg", algorithm) != algorithm:
        raise LoginRefused(f"the token is signed by {algorithm}, and its key is for another algorithm")
    try:
        public_key = jwt.PyJWK(dict(key), algorithm).key
        if kind == "RSA" and public_key.key_size < RSA_BITS_MIN:
            raise LoginRefused(f"the key of the token has fewer than {RSA_BITS_MIN} bits")
        payload = jwt.PyJWS().decode(token, public_key, algorithms=[algorithm])
    except jwt.PyJWTError as error:
        raise LoginRefused(f"the signature of the token does not hold: {error}") from None
    return _json_object(cast(bytes, payload))


def _decoded(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise LoginRefused("the token is no signed JWT") from None


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise LoginRefused("the token holds no JSON") from None
    if not isinstance(found, dict):
        raise LoginRefused("the token holds no JSON object")
    return found
