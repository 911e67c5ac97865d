"""The endpoint of an identity provider that gives tokens for client credentials (OpenID Connect).

Its settings are named as librdkafka names them:

    sasl.oauthbearer.method=oidc
    sasl.oauthbearer.token.endpoint.url=https://login.example.com/token
    sasl.oauthbearer.client.id=app
    sasl.oauthbearer.client.secret=…

It is asked at each login, so that no token is older than its login, and a redirect is not followed.
"""

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

_PREFIX: Final = "sasl.oauthbearer."
_URL: Final = f"{_PREFIX}token.endpoint.url"
_ID_NAMES: Final = (f"{_PREFIX}client.id", f"{_PREFIX}client.credentials.client.id")
_SECRET_NAMES: Final = (f"{_PREFIX}client.secret", f"{_PREFIX}client.credentials.client.secret")
_REPLY_BYTES_MAX: Final = 1 << 20
_REPLY_SECONDS: Final = 10.0


class TokenEndpoint(NamedTuple):
    url: str
    client_id: str
    client_secret: str
    scope: str | None = None
    ca_location: str | None = None
    ca_pem: str | None = None

    def __repr__(self) -> str:
        return f"TokenEndpoint({self.url!r}, {self.client_id!r}, ***)"

    def token(self) -> str:
        """A new token; blocks. Refused where the endpoint does not know the client, Disconnected where it is silent."""
        try:
            reply = _ask(self)
        except urllib.error.HTTPError as error:
            error.close()
            raise _no_token(f"{self.url} gave no token to {self.client_id}: {error.code} {error.reason}") from None
        except (OSError, ValueError) as error:
            raise Disconnected(f"{self.url}: {error}") from None
        token = reply.get("access_token") if isinstance(reply, dict) else None
        if not isinstance(token, str):
            raise _no_token(f"{self.url} answered without an access_token")
        return token


def endpoint_from(options: Mapping[str, str]) -> TokenEndpoint:
    """UserError names the option that is missing, or that only librdkafka knows."""
    grant = options.get(f"{_PREFIX}grant.type", "client_credentials").lower()
    if grant != "client_credentials":
        raise UserError(
            f"{_PREFIX}grant.type={grant} is not offered",
            "use client_credentials, or have the token fetched into a file",
        )
    return TokenEndpoint(
        _needed(options, (_URL,)),
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
    raise UserError(f"sasl.oauthbearer.method=oidc needs {names[0]}", "set it, or use another sasl.mechanism")


def _ask(endpoint: TokenEndpoint) -> Any:
    fields = {"grant_type": "client_credentials", **({"scope": endpoint.scope} if endpoint.scope else {})}
    login = base64.b64encode(f"{endpoint.client_id}:{endpoint.client_secret}".encode()).decode()
    request = urllib.request.Request(
        endpoint.url,
        urlencode(fields).encode(),
        {"Authorization": f"Basic {login}", "Accept": "application/json"},
    )
    trust = ssl.create_default_context(cafile=endpoint.ca_location, cadata=endpoint.ca_pem)
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trust), _NoRedirect())
    with opener.open(request, timeout=_REPLY_SECONDS) as reply:
        return json.loads(reply.read(_REPLY_BYTES_MAX))


def _no_token(cause: str) -> Refused:
    return Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, cause)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The secret is for the endpoint that was named, and for no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
