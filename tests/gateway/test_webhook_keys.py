"""Secrets of webhooks are not in the topic where webhooks are kept, once the gateway has a key to seal them with: those from
before are sealed when it starts.
"""

import base64
import secrets
from collections.abc import Callable
from pathlib import Path

import httpx
from confluent_kafka import Consumer, Message
from gateway_process import SECONDS, GatewayProcess

from eventually import until
from headrace.gateway.webhooks.registry import TOPIC
from headrace.testing import Broker

PLAIN, SEALED = "a-secret-from-before", "a-secret-that-is-sealed"


def records(broker: Broker) -> list[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": f"looks-{secrets.token_hex(4)}",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([TOPIC])
    try:
        found = consumer.consume(100, timeout=10)
    finally:
        consumer.close()
    return found


def values(found: list[Message]) -> bytes:
    return b"".join(message.value() or b"" for message in found)


def as_they_are_now(broker: Broker) -> bytes:
    """The last record of each key, which compaction leaves."""
    return values(list({message.key(): message for message in records(broker)}.values()))


def add(http: httpx.Client, topic: str, secret: str) -> None:
    hook = {"topic": topic, "callback_url": "http://127.0.0.1:9/", "secret": secret}
    made = http.post("/api/v1/webhooks", json=hook)
    assert made.status_code == 201, made.text
    assert made.json()["secret"] == secret


def test_secrets_are_sealed_and_old_records_still_count(
    hook_broker: Broker, new_gateway: Callable[..., GatewayProcess], tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text(base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
    before = new_gateway("--set", "webhook_networks=127.0.0.0/8", bootstrap=hook_broker.bootstrap)
    with before.client() as http:
        http.post("/api/v1/topics", json={"name": "sealed"}).raise_for_status()
        add(http, "sealed", PLAIN)
    before.stop()
    more = ("--set", "webhook_networks=127.0.0.0/8", "--set", f"webhook_keys={keys}")
    with new_gateway(*more, bootstrap=hook_broker.bootstrap).client() as http:
        add(http, "sealed", SEALED)
        until(lambda: as_they_are_now(hook_broker), lambda kept: PLAIN.encode() not in kept, SECONDS)
    kept = values(records(hook_broker))
    assert PLAIN.encode() in kept and b"sealed_secret" in kept and SEALED.encode() not in kept
    with new_gateway(*more, bootstrap=hook_broker.bootstrap).client() as http:
        until(lambda: len(http.get("/api/v1/webhooks").json()["webhooks"]) == 2, seconds=SECONDS)
