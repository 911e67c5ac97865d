"""HTTP to a gateway as the user of client settings: by HTTP Basic or with a bearer token, over https alone.

The gateway is trusted as brokers are (`ssl.ca.location`). Nothing goes through a proxy, and a redirect is not followed:
a password is for the gateway that was named.
"""

import base64
import json
import ssl
import urllib.request
from collections.abc import Mapping
from typing import Any

from headrace.client.bearer import BEARER, token_from
from headrace.client.security import security_from

_REPLY_BYTES_MAX = 64 << 20


class GatewayHttp:
    """`settings` are those of Kafka's clients, by librdkafka's names; UserError for such as cannot be used."""

    def __init__(self, url: str, settings: Mapping[str, object]) -> None:
        self.url = url.rstrip("/")
        told = {name: str(value) for name, value in settings.items() if name.startswith(("security.", "sasl.", "ssl."))}
        told |= {name: str(value) for name, value in settings.items() if name.startswith(("enable.ssl.", "https."))}
        self.has_login = told.get("security.protocol", "").upper().startswith("SASL")
        self.is_tls = self.url.lower().startswith("https://")
        self._settings = told
        handlers = [urllib.request.HTTPSHandler(context=_trust(told))] if self.is_tls else []
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect(), *handlers)

    def ask(self, method: str, path: str, body: object, seconds_max: float) -> Any:
        """The JSON of the answer; HTTPError for a refusal, OSError or ValueError where no gateway answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self.has_login and self.is_tls:
            headers["Authorization"] = _authorization(self._settings)
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        with self._opener.open(request, timeout=seconds_max) as reply:
            return json.loads(reply.read(_REPLY_BYTES_MAX) or b"null")


def _trust(settings: Mapping[str, str]) -> ssl.SSLContext | None:
    security = security_from({**settings, "security.protocol": "SSL"})
    return security.tls if security else None


def _authorization(settings: Mapping[str, str]) -> str:
    mechanism = settings.get("sasl.mechanism") or settings.get("sasl.mechanisms") or ""
    if mechanism.upper() == BEARER:
        return f"Bearer {token_from(settings)()}"
    login = f"{settings.get('sasl.username', '')}:{settings.get('sasl.password', '')}"
    return f"Basic {base64.b64encode(login.encode()).decode()}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
