"""Credentials as HTTP carries them: HTTP Basic and Bearer, and how each becomes a login at a broker. Pure."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.client.scoped_login import SCOPED_TOKEN, is_scoped, scoped_login
from headrace.client.security import Sasl

TOKEN_MECHANISM = "OAUTHBEARER"
# Longer ones are no credentials: a head has 64 kB for everything.
CREDENTIAL_LENGTH_MAX = 16 << 10
# Options of Kafka's clients that say who somebody is. A gateway whose callers log in uses none of them.
_WHO = ("sasl.username", "sasl.password", "sasl.jaas.config", "sasl.oauthbearer.")
# librdkafka asks for a new token when one ends; the broker alone knows when, and ends the connection.
_FAR_SECONDS = 1e12


class Credential(NamedTuple):
    """A name and its password, or a token, which has no name."""

    name: str
    secret: str

    def __repr__(self) -> str:
        return f"Credential({self.name!r})"

    @property
    def is_token(self) -> bool:
        return not self.name

    @property
    def holder(self) -> str:
        """The owner, as far as it says so: one who has a token can make any number of narrower ones, and any name goes
        with it. Proven as soon as a broker has taken it.
        """
        for text in (self.secret, self.name):
            if text.startswith(SCOPED_TOKEN):
                return f"{SCOPED_TOKEN}{_part(text).get('id')}"
        if not self.is_token:
            return self.name
        said = _part(self.secret)
        return f"{said.get('iss')} {said['sub']}" if "sub" in said else self.secret

    def sasl(self, mechanism: str) -> Sasl:
        """The login at a broker; `mechanism` is the one for passwords."""
        if not self.is_token:
            return Sasl(mechanism, self.name, self.secret)
        if is_scoped(self.secret):
            return scoped_login(self.secret, mechanism)
        return Sasl(TOKEN_MECHANISM, "", self.secret)


def _part(text: str) -> dict[str, Any]:
    """The second part of a token, scoped or signed (JWT); empty if it holds no JSON object."""
    encoded = text.split(".")[1] if "." in text else ""
    try:
        said = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def parse_authorization(header: bytes) -> Credential | None:
    """None for what is neither Basic nor Bearer, and for what cannot be a credential."""
    scheme, _, rest = header.partition(b" ")
    rest = rest.strip()
    if not rest or len(rest) > CREDENTIAL_LENGTH_MAX:
        return None
    match scheme.lower():
        case b"basic":
            return _basic(rest)
        case b"bearer":
            return token(rest.decode("latin-1"))
    return None


def password(name: str, secret: str) -> Credential | None:
    """A zero byte would end a name or a password on the way to a broker."""
    is_sound = bool(name and secret) and "\0" not in name + secret and len(name) + len(secret) <= CREDENTIAL_LENGTH_MAX
    return Credential(name, secret) if is_sound else None


def token(text: str) -> Credential | None:
    """Printable ASCII without spaces: a control character would end the token on its way to a broker."""
    is_sound = 0 < len(text) <= CREDENTIAL_LENGTH_MAX and text.isascii() and text.isprintable() and " " not in text
    return Credential("", text) if is_sound else None


def _basic(encoded: bytes) -> Credential | None:
    try:
        name, colon, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return password(name, secret) if colon else None


def without_login(options: Mapping[str, str]) -> dict[str, str]:
    """The options without anybody's name or password: addresses of brokers, and how they are trusted."""
    return {name: value for name, value in options.items() if not name.startswith(_WHO)}


def with_login(options: Mapping[str, str], sasl: Sasl) -> dict[str, Any]:
    """The options of confluent-kafka's clients for this login."""
    told: dict[str, Any] = {name: value for name, value in options.items() if name != "sasl.mechanisms"}
    told["sasl.mechanism"] = sasl.mechanism
    if sasl.mechanism == TOKEN_MECHANISM:
        return told | {"oauth_cb": lambda _: (sasl.password, _FAR_SECONDS)}
    return told | {"sasl.username": sasl.username, "sasl.password": sasl.password}
