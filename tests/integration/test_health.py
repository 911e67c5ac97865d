"""Health of a real broker over HTTP, as an orchestrator asks for it."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from headrace.testing import Broker


def ask(broker: Broker, path: str) -> tuple[int, Any]:
    url = broker.metrics_url.replace("/metrics", path)
    try:
        with urllib.request.urlopen(url, timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


@pytest.fixture(scope="module")
def broker() -> Any:
    with Broker() as running:
        yield running


@pytest.mark.parametrize(("path", "word"), [("/livez", "alive"), ("/healthz", "alive"), ("/readyz", "ready")])
def test_a_broker_that_serves_is_alive_and_ready(broker: Broker, path: str, word: str) -> None:
    code, answer = ask(broker, path)
    assert (code, answer["status"], answer["broker"]) == (200, word, 1)
    assert all(check["passed"] for check in answer["checks"].values())


def test_another_path_names_those_there_are(broker: Broker) -> None:
    code, text = ask(broker, "/ready")
    assert code == 404 and "/readyz" in text
