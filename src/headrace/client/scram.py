"""The client's side of SCRAM (RFC 5802): proves the password without sending it, and makes the server prove it too.

Bytes in, bytes out; sending them is `security`'s.
"""

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode

from headrace.base.errors import Refused
from headrace.wire.codes import ErrorCode

# A server may ask for more work than the 4,096 that Kafka stores; not for so much that it stops us.
ITERATIONS_MAX = 1_000_000


def scram_digest(mechanism: str) -> str:
    """`SCRAM-SHA-256` → `sha256`, as hashlib names it."""
    return mechanism.removeprefix("SCRAM-").replace("-", "").lower()


class ScramClient:
    def __init__(self, digest: str, username: str, password: str, nonce: str = "") -> None:
        self._digest = digest
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}"
        self._server_signature = b""

    def first_message(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def final_message(self, server_first: bytes) -> bytes:
        nonce, salt, iterations = self._parse(server_first)
        salted = hashlib.pbkdf2_hmac(self._digest, self._password, salt, iterations)
        client_key = self._mac(salted, b"Client Key")
        stored_key = hashlib.new(self._digest, client_key).digest()
        without_proof = f"c=biws,r={nonce}"
        signed = f"{self._bare},{server_first.decode()},{without_proof}".encode()
        self._server_signature = self._mac(self._mac(salted, b"Server Key"), signed)
        signature = self._mac(stored_key, signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def is_server_known(self, server_final: bytes) -> bool:
        attributes = _attributes(server_final)
        try:
            signature = b64decode(attributes.get("v", ""), validate=True)
        except ValueError:
            return False
        return hmac.compare_digest(signature, self._server_signature)

    def _parse(self, server_first: bytes) -> tuple[str, bytes, int]:
        attributes = _attributes(server_first)
        try:
            nonce, salt, iterations = attributes["r"], b64decode(attributes["s"], validate=True), int(attributes["i"])
        except (KeyError, ValueError) as error:
            raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, f"not a SCRAM message: {error}") from error
        if not nonce.startswith(self._nonce) or not 0 < iterations <= ITERATIONS_MAX:
            raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "the broker's SCRAM message does not answer ours")
        return nonce, salt, iterations

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._digest)


def _attributes(message: bytes) -> dict[str, str]:
    pairs = (part.partition("=") for part in message.decode("utf-8", "replace").split(","))
    return {name: value for name, _, value in pairs}
