"""One broker for everything a client can do wrong. After each test it still serves others, and has not grown."""

import uuid
from collections.abc import Iterator

import pytest
from watched_broker import WatchedBroker, watched

from clients.raw import RawClient
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest

RESIDENT_BYTES_MAX = 250 << 20


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedBroker]:
    with watched(tmp_path_factory.mktemp("bad-input")) as broker:
        yield broker


@pytest.fixture(autouse=True)
def unharmed(broker: WatchedBroker) -> Iterator[None]:
    """Who was connected before stays connected, no handler of ours failed, and memory stays bounded."""
    broker.forget_log()
    failures = broker.metric("headrace_handler_failures_total")
    with RawClient(broker.bootstrap) as bystander:
        bystander.greet()
        yield
        bystander.greet()
    assert broker.metric("headrace_handler_failures_total") == failures
    assert broker.resident_bytes < RESIDENT_BYTES_MAX


@pytest.fixture
def client(broker: WatchedBroker) -> Iterator[RawClient]:
    with RawClient(broker.bootstrap) as client:
        yield client


@pytest.fixture
def topic(broker: WatchedBroker) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    with RawClient(broker.bootstrap) as client:
        response = client.ask(CreateTopicsRequest([CreatableTopic(name, 2, 1)]), 7)
    assert response.topics[0].error_code == 0
    return name
