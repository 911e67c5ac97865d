"""One way of a browser to the provider and back, in a signed cookie of its own: nothing is kept here. Pure.

The state ties the answer to this browser, the nonce the ID token to this journey, and the verifier the code to us (PKCE).
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from typing import NamedTuple

JOURNEY_SECONDS_MAX = 600


class Journey(NamedTuple):
    state: str
    nonce: str
    verifier: str
    next: str
    until: float

    def __repr__(self) -> str:
        return "Journey(***)"

    @property
    def challenge(self) -> str:
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())


class Journeys:
    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def begin(self, wanted: str, now: float) -> Journey:
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return Journey(state, nonce, verifier, wanted, now + JOURNEY_SECONDS_MAX)

    def sealed(self, journey: Journey) -> str:
        text = _encoded(json.dumps(journey).encode())
        return f"{text}.{self._signature(text)}"

    def opened(self, cookie: str, now: float) -> Journey | None:
        """None for one that we did not sign, and for one that took too long."""
        text, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._signature(text).encode(), signature.encode("utf-8", "replace")):
            return None
        try:
            journey = Journey(*json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
        except (ValueError, TypeError, binascii.Error):
            return None
        return journey if now < journey.until else None

    def _signature(self, text: str) -> str:
        return _encoded(hmac.digest(self._key, text.encode("utf-8", "replace"), "sha256"))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
