"""Proofs of passwords: the keys that SCRAM keeps in place of a password (RFC 5802), and those of users who do not exist.

    password ─PBKDF2(salt, iterations)─▶ salted password ─▶ client key ─hash─▶ stored key
                                                  └────────▶ server key

Whoever reads the stored and the server key cannot log in with them. An unknown user has a credential too: its salt is
always the same, as that of a real user is, and there is no password for it. So a stranger sees no difference.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from headrace.cluster.entities import ScramCredential, User

SHA_256: Final = "SCRAM-SHA-256"
SHA_512: Final = "SCRAM-SHA-512"
DIGESTS: Final[Mapping[str, str]] = {SHA_256: "sha256", SHA_512: "sha512"}
"""Mechanism → its hash, by the name that hashlib knows; the mechanism that is the better one comes last."""
MECHANISM_NUMBERS: Final[Mapping[int, str]] = {1: SHA_256, 2: SHA_512}
"""Kafka's numbers of mechanisms."""

STORED_ITERATIONS_MIN: Final = 4_096
STORED_ITERATIONS_MAX: Final = 16_384
USUAL_ITERATIONS: Final = 8_192
USUAL_SALT_BYTES: Final = 32


class Shape(NamedTuple):
    """The parts of a credential that everybody is told who begins to log in."""

    salt_bytes: int = USUAL_SALT_BYTES
    iterations: int = USUAL_ITERATIONS


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """A derivation that takes milliseconds: not for an event loop."""
    return hashlib.pbkdf2_hmac(DIGESTS[mechanism], password.encode(), salt, iterations)


def credential_from(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    digest = DIGESTS[mechanism]
    stored_key = hashlib.new(digest, hmac.digest(salted, b"Client Key", digest)).digest()
    return ScramCredential(salt, stored_key, hmac.digest(salted, b"Server Key", digest), iterations)


def is_password_of(credential: ScramCredential, mechanism: str, password: str) -> bool:
    """A check that takes as many milliseconds for a wrong password as for the right one."""
    salted = salted_password(mechanism, password, credential.salt, credential.iterations)
    proven = credential_from(mechanism, salted, credential.salt, credential.iterations)
    return hmac.compare_digest(proven.stored_key, credential.stored_key)


def credential_of_nobody(secret: bytes, mechanism: str, name: str, shape: Shape) -> ScramCredential:
    """The credential of a user who does not exist: the same each time, and no password fits it."""
    salt, stored_key, server_key = (
        hmac.digest(secret, f"{part}\0{mechanism}\0{name}".encode(), "sha512") for part in ("salt", "stored", "server")
    )
    length = hashlib.new(DIGESTS[mechanism]).digest_size
    while len(salt) < shape.salt_bytes:
        salt += hmac.digest(secret, salt, "sha512")
    return ScramCredential(salt[: shape.salt_bytes], stored_key[:length], server_key[:length], shape.iterations)


class Credentials:
    """The credentials of users who exist, and of all who do not. Made anew when users change."""

    def __init__(self, users: Mapping[str, User], secret: bytes) -> None:
        self._users = users
        self._secret = secret
        self._shapes = {mechanism: _usual_shape(users.values(), mechanism) for mechanism in DIGESTS}
        best = Counter(_best(user.credentials) for user in users.values() if user.credentials)
        self._usual_mechanism = best.most_common(1)[0][0] if best else SHA_512

    def of(self, name: str, mechanism: str) -> ScramCredential:
        user = self._users.get(name)
        known = None if user is None else user.credentials.get(mechanism)
        return known or self.of_nobody(name, mechanism)

    def of_nobody(self, name: str, mechanism: str) -> ScramCredential:
        return credential_of_nobody(self._secret, mechanism, name, self._shapes[mechanism])

    def for_password(self, name: str) -> tuple[str, ScramCredential]:
        """The mechanism and credential that a password is compared with when it is sent itself (PLAIN)."""
        user = self._users.get(name)
        has = user is not None and user.credentials
        mechanism = _best(user.credentials) if user is not None and has else self._usual_mechanism
        return mechanism, self.of(name, mechanism)


def _best(credentials: Mapping[str, ScramCredential]) -> str:
    return max(credentials, key=list(DIGESTS).index)


def _usual_shape(users: Iterable[User], mechanism: str) -> Shape:
    """The salt's length and the iterations of most users: tools differ, and an invented user must not stand out."""
    found = (user.credentials.get(mechanism) for user in users)
    shapes = Counter(Shape(len(each.salt), each.iterations) for each in found if each is not None)
    return shapes.most_common(1)[0][0] if shapes else Shape()
