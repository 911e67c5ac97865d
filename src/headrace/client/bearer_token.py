"""Tokens of an identity provider for OAUTHBEARER, by client credentials (OpenID Connect), named as librdkafka names them.

    sasl.mechanism=OAUTHBEARER
    sasl.oauthbearer.method=oidc
    sasl.oauthbearer.token.endpoint.url=https://login.example.com/token
    sasl.oauthbearer.client.id=app
    sasl.oauthbearer.client.secret=…

A token is asked for at each login, so that none is older than the connection. The endpoint is not left for another one.
"""

import asyncio
import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from headrace.base.errors import Refused, UserError
from headrace.client.connection import Disconnected
from headrace.wire.codes import ErrorCode

MECHANISM: Final = "OAUTHBEARER"
_PREFIX = "sasl.oauthbearer."
_ENDPOINT = f"{_PREFIX}token.endpoint.url"
_ID_NAMES = (f"{_PREFIX}client.id", f"{_PREFIX}client.credentials.client.id")
_SECRET_NAMES = (f"{_PREFIX}client.secret", f"{_PREFIX}client.credentials.client.secret")
_REPLY_BYTES_MAX = 1 << 20


class TokenSource(NamedTuple):
    endpoint: str
    client_id: str
    client_secret: str
    scope: str | None = None
    ca_location: str | None = None
    ca_pem: str | None = None


def token_source(options: Mapping[str, str]) -> TokenSource:
    """UserError names the option that is missing, or that only librdkafka knows."""
    method = options.get(f"{_PREFIX}method", "default").lower()
    grant = options.get(f"{_PREFIX}grant.type", "client_credentials").lower()
    if method != "oidc" or grant != "client_credentials":
        raise UserError(
            f"{_PREFIX}method={method} with grant type {grant} is not offered",
            f"set {_PREFIX}method=oidc with {_ENDPOINT}, {_ID_NAMES[0]} and {_SECRET_NAMES[0]}",
        )
    return TokenSource(
        _needed(options, (_ENDPOINT,)),
        _needed(options, _ID_NAMES),
        _needed(options, _SECRET_NAMES),
        options.get(f"{_PREFIX}scope"),
        options.get("https.ca.location"),
        options.get("https.ca.pem"),
    )


def _needed(options: Mapping[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        if options.get(name):
            return options[name]
    raise UserError(f"{MECHANISM} needs {names[0]}", "set it, or use another sasl.mechanism")


async def bearer_token(source: TokenSource, seconds_max: float) -> str:
    """Refused by an endpoint that knows us not, Disconnected from one that does not answer."""
    try:
        reply = await asyncio.to_thread(_ask, source, seconds_max)
    except urllib.error.HTTPError as error:
        error.close()
        said = f"{source.endpoint} gave no token to {source.client_id}: {error.code} {error.reason}"
        raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, said) from None
    except (OSError, ValueError) as error:
        raise Disconnected(f"{source.endpoint}: {error}") from None
    token = reply.get("access_token") if isinstance(reply, dict) else None
    if not isinstance(token, str) or not token.isprintable():
        raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, f"{source.endpoint} answered without an access_token")
    return token


def _ask(source: TokenSource, seconds_max: float) -> Any:
    fields = {"grant_type": "client_credentials", **({"scope": source.scope} if source.scope else {})}
    login = base64.b64encode(f"{source.client_id}:{source.client_secret}".encode()).decode()
    request = urllib.request.Request(
        source.endpoint,
        urlencode(fields).encode(),
        {"Authorization": f"Basic {login}", "Accept": "application/json"},
    )
    trust = ssl.create_default_context(cafile=source.ca_location, cadata=source.ca_pem)
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trust), _NoRedirect())
    with opener.open(request, timeout=seconds_max) as reply:
        return json.loads(reply.read(_REPLY_BYTES_MAX))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The secret is for the endpoint that was named, and for no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
