"""The server's side of SCRAM (RFC 5802): a client proves that it knows a password, and the server that it knows its proof.

    client                                                       server
      n,,n=USER,r=NONCE                            ──▶  first
                                                   ◀──  r=NONCE+OURS,s=SALT,i=ITERATIONS
      c=biws,r=NONCE+OURS,p=PROOF                  ──▶  final
                                                   ◀──  v=SIGNATURE

A user who does not exist is answered as any other until the end, where every proof fails. There is no channel binding.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final, NamedTuple

from headrace.cluster.entities import ScramCredential
from headrace.security.credentials import DIGESTS
from headrace.security.refusal import LoginRefused

_NONCE: Final = re.compile(r"[!-+\--~]+")
_TOKEN_LOGIN: Final = "tokenauth=true"

CredentialOf = Callable[[str, bool], ScramCredential]
"""The credential of a name, which the client says is that of a token, or not."""


class First(NamedTuple):
    """The first message of a client."""

    binding: bytes
    """The part about channel binding, which the last message repeats."""
    bare: str
    """The rest, which both sides sign."""
    user: str
    nonce: str
    is_token: bool


class ScramServer:
    """One login. `nonce` is ours: fresh, random and printable."""

    def __init__(self, mechanism: str, credential_of: CredentialOf, nonce: str) -> None:
        self._digest = DIGESTS[mechanism]
        self._credential_of = credential_of
        self._nonce = nonce

    def answer_first(self, message: bytes) -> bytes:
        self._first = parse_first(message)
        self._credential = self._credential_of(self._first.user, self._first.is_token)
        salt, iterations = b64encode(self._credential.salt).decode(), self._credential.iterations
        self._server_first = f"r={self._first.nonce}{self._nonce},s={salt},i={iterations}"
        return self._server_first.encode()

    def answer_final(self, message: bytes) -> bytes:
        """Our own proof, when theirs is right; else `LoginRefused`."""
        without_proof, proof = self._parse_final(message)
        signed = f"{self._first.bare},{self._server_first},{without_proof}".encode()
        signature = self._mac(self._credential.stored_key, signed)
        if len(proof) != len(signature):
            raise LoginRefused(f"the proof of user {self._first.user!r} has another length")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.new(self._digest, client_key).digest(), self._credential.stored_key):
            raise LoginRefused(f"user {self._first.user!r} is unknown, or the password is wrong")
        return b"v=" + b64encode(self._mac(self._credential.server_key, signed))

    @property
    def user(self) -> str:
        return self._first.user

    def _parse_final(self, message: bytes) -> tuple[str, bytes]:
        without_proof, separator, proof = _text(message).rpartition(",p=")
        binding, nonce, *_ = [*without_proof.split(","), "", ""]
        if not separator or not binding.startswith("c=") or not nonce.startswith("r="):
            raise LoginRefused("the last SCRAM message is malformed")
        if _decoded(binding[2:]) != self._first.binding:
            raise LoginRefused("the last SCRAM message is about another channel binding than the first")
        agreed = f"{self._first.nonce}{self._nonce}"
        # Old librdkafka, as in Debian's kcat, puts its own nonce before it once more. Kafka takes that too.
        if nonce[2:] not in (agreed, self._first.nonce + agreed):
            raise LoginRefused("the last SCRAM message has another nonce: it belongs to another login")
        return without_proof, _decoded(proof)

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._digest)


def parse_first(message: bytes) -> First:
    flag, acts_as, *attributes = [*_text(message).split(","), ""]
    if flag.startswith("p="):
        raise LoginRefused("a client asks for channel binding", "channel binding is not offered")
    if flag not in ("n", "y") or len(attributes) < 3 or (acts_as and not acts_as.startswith("a=")):
        raise LoginRefused("the first SCRAM message is malformed")
    name, nonce, *extensions = attributes[:-1]
    if not name.startswith("n=") or not nonce.startswith("r=") or not _NONCE.fullmatch(nonce[2:]):
        raise LoginRefused("the first SCRAM message is malformed")
    user = decode_name(name[2:])
    if acts_as and decode_name(acts_as[2:]) != user:
        raise LoginRefused(f"user {user!r} wants to act as another", "the authorization id must be the user name")
    binding = f"{flag},{acts_as},"
    return First(binding.encode(), ",".join(attributes[:-1]), user, nonce[2:], _TOKEN_LOGIN in extensions)


def decode_name(text: str) -> str:
    """A name as SCRAM writes it, with `=2C` for a comma and `=3D` for an equal sign."""
    if not text or re.search("=(?!2C|3D)", text):
        raise LoginRefused("the user name in a SCRAM message is malformed")
    return text.replace("=2C", ",").replace("=3D", "=")


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise LoginRefused("a SCRAM message that is no UTF-8") from None


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise LoginRefused("a SCRAM message with broken base64") from None
