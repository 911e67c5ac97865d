"""Signatures of tokens: which are believed, and every known way to make one that is not."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from headrace.base.errors import UserError
from headrace.identity.login_work import LoginWork
from headrace.identity.signed_tokens import TokenVerifier
from headrace.identity.signing_keys import (
    KEEP_SECONDS_MAX,
    UNKNOWN_SECONDS_MIN,
    Pauses,
    SigningKeys,
    parse_jwks,
    reader_of,
)
from headrace.security.refusal import LoginRefused
from signed_tokens import EC_KEY, ED_KEY, JWKS, RSA_KEY, SMALL_RSA_KEY, STRANGE_KEY, claims, jwk, token

PAUSES = Pauses(3600, 0.1, 10)


class Issuer:
    """Where keys are read from; counts how often."""

    def __init__(self) -> None:
        self.text: bytes | Exception = JWKS
        self.reads = 0
        self.now = 0.0

    def read(self) -> bytes:
        self.reads += 1
        if isinstance(self.text, Exception):
            raise self.text
        return self.text

    def keys(self, loop: asyncio.AbstractEventLoop) -> SigningKeys:
        return SigningKeys(self.read, "https://issuer/keys", PAUSES, loop, lambda: self.now)


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


def claimed_by(text: str, issuer: Issuer) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        keys, work = issuer.keys(loop), LoginWork(loop)
        try:
            await keys.load()
            return await TokenVerifier(keys, work).claims_of(text)
        finally:
            keys.close()
            work.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("key", "algorithm", "key_id"),
    [
        (RSA_KEY, "RS256", "rsa"),
        (RSA_KEY, "PS512", "rsa"),
        (RSA_KEY, "RS256", "rsa-256"),
        (EC_KEY, "ES256", "ec"),
        (ED_KEY, "EdDSA", "ed"),
    ],
)
def test_a_token_that_one_of_our_keys_has_signed(issuer: Issuer, key: Any, algorithm: str, key_id: str) -> None:
    assert claimed_by(token(key, algorithm, key_id), issuer)["sub"] == "al"


def encoded(part: bytes | dict[str, Any]) -> str:
    text = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def unsigned(algorithm: str, signature: str = "AAAA") -> str:
    return f"{encoded({'alg': algorithm, 'kid': 'rsa'})}.{encoded(claims())}.{signature}"


def signed_with_the_public_key() -> str:
    """The public key, which everybody has, taken for the secret of HS256."""
    public = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = f"{encoded({'alg': 'HS256', 'kid': 'rsa'})}.{encoded(claims())}"
    return f"{head}.{encoded(hmac.digest(public, head.encode(), hashlib.sha256))}"


def with_header(**header: Any) -> str:
    _, payload, signature = token().split(".")
    return f"{encoded({'alg': 'RS256', 'kid': 'rsa', **header})}.{payload}.{signature}"


def with_claims(**changes: Any) -> str:
    header, _, signature = token().split(".")
    return f"{header}.{encoded(claims(**changes))}.{signature}"


ATTACKS: dict[str, Callable[[], str]] = {
    "alg none": lambda: unsigned("none"),
    "alg None": lambda: unsigned("None"),
    "alg none, no signature": lambda: unsigned("none", ""),
    "the public key as a secret": signed_with_the_public_key,
    "another key under a known id": lambda: token(STRANGE_KEY),
    "unknown key id": lambda: token(key_id="other"),
    "no key id": lambda: token(key_id=None),
    "a key id that is no text": lambda: with_header(kid=["rsa"]),
    "key in the header": lambda: with_header(jwk=jwk(STRANGE_KEY, "rsa")),
    "address in the header": lambda: with_header(jku="https://evil"),
    "critical extension": lambda: with_header(crit=["b64"], b64=False),
    "algorithm of another kind of key": lambda: token(RSA_KEY, "RS256", "ec"),
    "algorithm that the key is not for": lambda: token(RSA_KEY, "RS384", "rsa-256"),
    "key that is too small": lambda: token(SMALL_RSA_KEY, "RS256", "small"),
    "other claims under the signature": lambda: with_claims(sub="admin"),
    "signature cut": lambda: token()[:-8],
    "signature gone": lambda: token().rpartition(".")[0] + ".",
    "two parts": lambda: token().rpartition(".")[0],
    "five parts": lambda: f"{token()}.a.b",
    "no JSON": lambda: f"{encoded(b'{')}.{encoded(claims())}.AAAA",
    "no object": lambda: f"{encoded(b'[]')}.{encoded(claims())}.AAAA",
    "nested": lambda: f"{encoded(b'[' * 60_000)}.{encoded(claims())}.AAAA",
    "nothing": lambda: "",
}


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_token_that_is_not_believed(issuer: Issuer, attack: str) -> None:
    text = ATTACKS[attack]()
    with pytest.raises(LoginRefused):
        claimed_by(text, issuer)


# -- the keys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        OSError("connection refused"),
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"keys": {}}',
        b'{"keys": []}',
        json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}]}).encode(),
        json.dumps({"keys": [jwk(RSA_KEY, "rsa", use="enc")]}).encode(),
        json.dumps({"keys": [{**jwk(RSA_KEY, "rsa"), "kid": None}]}).encode(),
        json.dumps({"keys": [jwk(RSA_KEY, "rsa", d="AAAA")]}).encode(),
        b"[" * 100_000,
    ],
)
def test_without_keys_there_is_no_broker(issuer: Issuer, text: bytes | Exception) -> None:
    issuer.text = text
    with pytest.raises(UserError, match="cannot be read from https://issuer/keys"):
        claimed_by(token(), issuer)


def test_an_unknown_key_is_looked_for_now_and_then(issuer: Issuer) -> None:
    async def ask() -> None:
        keys = issuer.keys(asyncio.get_running_loop())
        await keys.load()
        for _ in range(3):
            assert await keys.of("new") is None
        assert issuer.reads == 1
        issuer.now += UNKNOWN_SECONDS_MIN
        issuer.text = json.dumps({"keys": [jwk(RSA_KEY, "new")]}).encode()
        found = await asyncio.gather(*(keys.of("new") for _ in range(3)))
        assert all(each is not None for each in found) and issuer.reads == 2
        # It is not among the keys any more.
        assert await keys.of("rsa") is None
        keys.close()

    asyncio.run(ask())


def test_keys_that_cannot_be_read_again_serve_for_a_day(issuer: Issuer) -> None:
    async def ask() -> None:
        keys = issuer.keys(asyncio.get_running_loop())
        await keys.load()
        issuer.text = OSError("gone")
        issuer.now += KEEP_SECONDS_MAX - 1
        assert await keys.of("rsa") is not None
        assert await keys.of("other") is None
        issuer.now += 2
        assert await keys.of("rsa") is None
        keys.close()

    asyncio.run(ask())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://issuer/keys",
        "ftp://issuer/keys",
        "file://host/keys",
        "/keys",
        "https://",
        "data:,{}",
        "https://al:pw@issuer/keys",
    ],
)
def test_where_keys_are_not_read_from(url: str) -> None:
    with pytest.raises(UserError, match=r"sasl\.oauthbearer\.jwks\.endpoint\.url"):
        reader_of(url)


def test_keys_in_a_file(tmp_path) -> None:
    (tmp_path / "some keys.json").write_bytes(JWKS)
    read = reader_of((tmp_path / "some keys.json").as_uri())
    assert list(parse_jwks(read())) == ["rsa", "small", "rsa-256", "ec", "ed"]
    (tmp_path / "some keys.json").write_bytes(b" " * (2 << 20))
    with pytest.raises(ValueError, match="bytes"):
        read()
