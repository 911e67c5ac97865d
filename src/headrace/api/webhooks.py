"""Webhooks: a URL that the gateway delivers a topic's messages to, asked for over its REST."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.api.errors import ApiError, UnknownOption
from headrace.api.options import near

SECONDS = 30.0
OPTIONS = ("group", "secret", "dead_letter_topic", "start", "messages_max", "timeout_ms", "retry")


@dataclass(frozen=True, slots=True)
class Webhook:
    """`secret` signs the bodies, and is shown here only."""

    id: str
    topic: str
    group: str
    secret: str


def subscribed(gateway: str, url: str, topic: str, options: Mapping[str, object]) -> Webhook:
    for name in options:
        if name not in OPTIONS:
            raise UnknownOption(
                f"a webhook has no option {name}", near(name, OPTIONS) or f"it has {', '.join(OPTIONS)}"
            )
    if not gateway.startswith(("http://", "https://")):
        raise ApiError(f"{gateway!r} is no address of a gateway", 'connect(…, gateway="http://127.0.0.1:8080")')
    made = _post(f"{gateway.rstrip('/')}/api/v1/webhooks", {"topic": topic, "callback_url": url, **options})
    return Webhook(made["id"], topic, made["group"], made.get("secret", ""))


def _post(url: str, body: Mapping[str, object]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as refusal:
        with refusal:
            raise _told(refusal.read(), refusal.code) from None
    except OSError as failure:
        reason = failure.reason if isinstance(failure, urllib.error.URLError) else failure
        raise ApiError(
            f"the gateway at {url} does not answer: {reason}",
            'see whether it runs (headrace up starts one), and name it: connect(…, gateway="http://127.0.0.1:8080")',
        ) from None


def _told(problem: bytes, status: int) -> ApiError:
    try:
        said = json.loads(problem)
        return ApiError(f"{said['title']}: {said['detail']}", said.get("fix", ""))
    except (ValueError, KeyError, TypeError):
        return ApiError(f"the gateway answered with status {status}", "see its log")
