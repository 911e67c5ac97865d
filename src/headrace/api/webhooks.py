"""Webhooks: a URL that the gateway delivers a topic's messages to, asked for over its REST."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

from headrace.api.errors import ApiError, UnknownOption
from headrace.api.options import Config, near
from headrace.base.errors import Refused, UserError
from headrace.client.connection import Disconnected
from headrace.client.gateway_http import GatewayHttp

SECONDS = 30.0
OPTIONS = ("group", "secret", "dead_letter_topic", "start", "messages_max", "timeout_ms", "retry")


@dataclass(frozen=True, slots=True)
class Webhook:
    """`secret` signs the bodies, and is shown here only."""

    id: str
    topic: str
    group: str
    secret: str


def subscribed(gateway: str, settings: Config, url: str, topic: str, options: Mapping[str, object]) -> Webhook:
    """`settings` say who asks, and whom he trusts."""
    for name in options:
        if name not in OPTIONS:
            raise UnknownOption(
                f"a webhook has no option {name}", near(name, OPTIONS) or f"it has {', '.join(OPTIONS)}"
            )
    if not gateway.startswith(("http://", "https://")):
        raise ApiError(f"{gateway!r} is no address of a gateway", 'connect(…, gateway="http://127.0.0.1:8080")')
    made = _post(gateway, settings, {"topic": topic, "callback_url": url, **options})
    return Webhook(made["id"], topic, made["group"], made.get("secret", ""))


def _post(gateway: str, settings: Config, body: Mapping[str, object]) -> Any:
    try:
        http = GatewayHttp(gateway, settings)
        return http.ask("POST", "/api/v1/webhooks", body, SECONDS)
    except HTTPError as refusal:
        with refusal:
            raise _told(refusal.read(), refusal.code, http) from None
    except UserError as error:
        raise ApiError(error.cause, error.fix) from None
    except (Refused, Disconnected) as failure:
        raise ApiError(f"no token to log in with: {failure}", "see the settings sasl.oauthbearer.…") from None
    except (OSError, HTTPException) as failure:
        reason = failure.reason if isinstance(failure, URLError) else failure
        raise ApiError(
            f"the gateway at {gateway} does not answer: {reason}",
            'see whether it runs (headrace up starts one), and name it: connect(…, gateway="http://127.0.0.1:8080")',
        ) from None


def _told(problem: bytes, status: int, http: GatewayHttp) -> ApiError:
    if status == 401 and http.has_login and not http.is_tls:
        return ApiError(
            f"the gateway at {http.url} wants a login, which goes over https alone", 'connect(…, gateway="https://…")'
        )
    try:
        said = json.loads(problem)
        return ApiError(f"{said['title']}: {said['detail']}", said.get("fix", ""))
    except (ValueError, KeyError, TypeError):
        return ApiError(f"the gateway answered with status {status}", "see its log")
