"""One broker and one of each client for all integration tests.

HEADRACE_TEST_BOOTSTRAP=host:port runs them against a broker that is already there, Apache Kafka for one.
"""

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping

import pytest

from clients import aio, confluent, kafka_python, kcat, line_driver
from clients.build import MissingTool
from clients.client import WAIT_S, Admin, Client

CLIENTS = ("kcat", "confluent-kafka", "kafka-python", "aiokafka", "java", "franz-go")
ADMINS = CLIENTS[1:]
WITH_TOPIC_IDS = ("confluent-kafka", "kafka-python", "java", "franz-go")


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
            made[name] = _make(name, bootstrap)
        return made[name]

    yield named
    for client in made.values():
        if isinstance(client, line_driver.LineDriver):
            client.close()


def _make(name: str, bootstrap: str) -> Client:
    makers: dict[str, Callable[[str], Client]] = {
        "kcat": kcat.Kcat,
        "confluent-kafka": confluent.Confluent,
        "kafka-python": kafka_python.KafkaPython,
        "aiokafka": aio.Aiokafka,
        "java": line_driver.java,
        "franz-go": line_driver.go,
    }
    if name == "kcat" and shutil.which("kcat") is None:
        pytest.skip("kcat is missing. Fix: apt-get install kcat, or `make test` as root on Debian")
    try:
        return makers[name](bootstrap)
    except MissingTool as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, client_named: Callable[[str], Client]) -> Client:
    return client_named(request.param)


@pytest.fixture(params=ADMINS)
def admin(request: pytest.FixtureRequest, client_named: Callable[[str], Client]) -> Admin:
    return client_named(request.param)


@pytest.fixture(scope="session")
def reference(bootstrap: str) -> confluent.Confluent:
    """The client that prepares and checks what another client is tested on."""
    return confluent.Confluent(bootstrap)


def created(
    reference: confluent.Confluent, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None
) -> str:
    """This topic, made and seen: Apache Kafka answers before the new topic shows in its metadata."""
    reference.create_topic(topic, partitions, config)
    until(lambda: reference.topics().get(topic) == partitions)
    return topic


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


@pytest.fixture
def new_name() -> Callable[[], str]:
    return lambda: f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def new_topic(reference: confluent.Confluent, new_name: Callable[[], str]) -> Callable[..., str]:
    def create(partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        return created(reference, new_name(), partitions, config)

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic()
