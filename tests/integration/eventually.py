"""Waiting for what a broker has promised but need not show at once, as a topic it has just made."""

import time
from collections.abc import Callable, Mapping

from clients.client import WAIT_S
from clients.confluent import Confluent


def created(reference: Confluent, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
    """This topic, made and seen: Apache Kafka answers before the new topic shows in its metadata."""
    reference.create_topic(topic, partitions, config)
    until(lambda: reference.topics().get(topic) == partitions)
    return topic


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)
