"""An issuer of tokens for tests: keys of several kinds, and tokens that are signed well or badly."""

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://issuer.example"
AUDIENCE = "headrace"
# Made once: RSA keys take their time.
RSA_KEY = rsa.generate_private_key(65537, 2048)
SMALL_RSA_KEY = rsa.generate_private_key(65537, 1024)
STRANGE_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()


def jwk(key: Any, key_id: str, **more: str) -> dict[str, Any]:
    algorithm = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    kind = next((each for base, each in algorithm.items() if isinstance(key, base)), OKPAlgorithm)
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": key_id, **more}


KEYS = [
    jwk(RSA_KEY, "rsa", use="sig"),
    jwk(SMALL_RSA_KEY, "small"),
    jwk(RSA_KEY, "rsa-256", alg="RS256"),
    jwk(EC_KEY, "ec"),
    jwk(ED_KEY, "ed"),
]
JWKS = json.dumps({"keys": KEYS}).encode()


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    good = {"sub": "al", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 300}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def token(key: Any = RSA_KEY, algorithm: str = "RS256", key_id: str | None = "rsa", **changes: Any) -> str:
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims(**changes), key, algorithm, headers=headers)
