"""`client.subscribe`: a webhook from Python, through the gateway's REST."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from gateway_process import GatewayProcess
from receiver import Receiver

import headrace
from headrace.testing import Broker


def test_messages_are_delivered_to_a_url(
    hook_broker: Broker, new_gateway: Callable[..., GatewayProcess], tmp_path: Path
) -> None:
    gateway = new_gateway("--set", "webhook_networks=127.0.0.0/8", bootstrap=hook_broker.bootstrap)
    receiver = Receiver(tmp_path).start()
    try:
        with headrace.connect(hook_broker.bootstrap, gateway=gateway.url) as client:
            client.create_topic(topic := "orders")
            made = client.subscribe(receiver.url, topic, start="earliest")
            assert made.id and made.secret and made.topic == topic
            client.produce(topic, "hello")
            assert receiver.until(lambda seen: len(seen) >= 1)[0]["value"] == "hello"
            with pytest.raises(headrace.ApiError, match="did you mean messages_max"):
                client.subscribe(receiver.url, topic, message_max=1)
            with pytest.raises(headrace.ApiError):
                client.subscribe(receiver.url, "no-such-topic")
    finally:
        receiver.kill()


def test_tasks_subscribe_too(
    hook_broker: Broker, new_gateway: Callable[..., GatewayProcess], tmp_path: Path, topic: str
) -> None:
    gateway = new_gateway("--set", "webhook_networks=127.0.0.0/8", bootstrap=hook_broker.bootstrap)
    receiver = Receiver(tmp_path).start()

    async def story() -> None:
        async with headrace.aio.connect(hook_broker.bootstrap, gateway=gateway.url) as client:
            await client.create_topic(f"{topic}-tasks")
            made = await client.subscribe(receiver.url, f"{topic}-tasks", start="earliest")
            assert made.id and made.secret and made.topic == f"{topic}-tasks"
            await client.produce(f"{topic}-tasks", "hello")
            with pytest.raises(headrace.ApiError, match="did you mean messages_max"):
                await client.subscribe(receiver.url, f"{topic}-tasks", message_max=1)

    try:
        asyncio.run(story())
        assert receiver.until(lambda seen: len(seen) >= 1)[0]["value"] == "hello"
    finally:
        receiver.kill()


def test_a_gateway_that_is_not_there_is_told(broker: Broker, topic: str) -> None:
    client = headrace.connect(broker.bootstrap, gateway="http://127.0.0.1:9")
    with client, pytest.raises(headrace.ApiError, match=r"does not answer.*\n.*gateway="):
        client.subscribe("http://127.0.0.1:9/hook", topic)
