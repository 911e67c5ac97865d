"""One broker and one of each client for all integration tests.

HEADRACE_TEST_BOOTSTRAP=host:port runs them against a broker that is already there, Apache Kafka for one.
"""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping

import pytest
from created import created

from clients import confluent, line_driver, roster
from clients.build import MissingTool
from clients.client import Admin, Client


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    running = os.environ.get("HEADRACE_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    from headrace.testing import Broker

    with Broker() as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def client_named(bootstrap: str) -> Iterator[Callable[[str], Client]]:
    """Each client by its name, made on first use and kept: a JVM takes a second to start."""
    made: dict[str, Client] = {}

    def named(name: str) -> Client:
        if name not in made:
            try:
                made[name] = roster.make(name, bootstrap)
            except MissingTool as missing:
                pytest.skip(str(missing))
        return made[name]

    yield named
    for client in made.values():
        if isinstance(client, line_driver.LineDriver):
            client.close()


@pytest.fixture(params=roster.CLIENTS)
def client(request: pytest.FixtureRequest, client_named: Callable[[str], Client]) -> Client:
    return client_named(request.param)


@pytest.fixture(params=roster.ADMINS)
def admin(request: pytest.FixtureRequest, client_named: Callable[[str], Client]) -> Admin:
    return client_named(request.param)


@pytest.fixture(scope="session")
def reference(bootstrap: str) -> confluent.Confluent:
    """The client that prepares and checks what another client is tested on."""
    return confluent.Confluent(bootstrap)


@pytest.fixture
def new_name() -> Callable[[], str]:
    return lambda: f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def new_topic(reference: confluent.Confluent, new_name: Callable[[], str]) -> Callable[..., str]:
    def create(partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        # Some tests write records of 2023: they are to stay until they have been read.
        return created(reference, new_name(), partitions, {"retention.ms": "-1", **(config or {})})

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic()
