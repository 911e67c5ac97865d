"""The pytest fixtures. Loaded by pytest wherever Headrace is installed, so nothing is imported until a test asks.

def test_orders(headrace_broker, headrace_topic):
    producer = Producer({"bootstrap.servers": headrace_broker.bootstrap})
    producer.produce(headrace_topic, b"hello")
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing.broker import Broker


@pytest.fixture(scope="session")
def headrace_broker() -> "Iterator[Broker]":
    """One broker for the whole session, in a child process, with a directory of its own."""
    from headrace.testing.broker import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture
def headrace_topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses, and that says which test it came from."""
    import re
    import uuid

    readable = re.sub(r"[^a-zA-Z0-9_-]+", "-", request.node.name).strip("-")[:100]
    return f"{readable}-{uuid.uuid4().hex[:8]}"
