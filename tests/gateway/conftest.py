"""A real gateway process before a real broker, and a client that speaks HTTP to it."""

import uuid
from collections.abc import Callable, Iterator

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from gateway_process import SECONDS, GatewayProcess

from headrace.testing import Broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Topics are not made by themselves here, so that a test of an unknown one finds none."""
    with Broker(
        {"auto.create.topics.enable": "false", "num.partitions": 2, "group.initial.rebalance.delay.ms": 0}
    ) as running:
        yield running


@pytest.fixture(scope="module")
def hook_broker() -> Iterator[Broker]:
    """Of its own: every gateway of a cluster shares the work, and those of other tests may not deliver to this machine."""
    with Broker({"group.initial.rebalance.delay.ms": 0, "auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture(scope="session")
def gateway(broker: Broker) -> Iterator[GatewayProcess]:
    running = GatewayProcess(broker.bootstrap).start()
    yield running
    running.stop()


@pytest.fixture
def new_gateway(broker: Broker) -> Iterator[Callable[..., GatewayProcess]]:
    """More of them, started with further arguments of `headrace gateway`."""
    started: list[GatewayProcess] = []

    def start(*arguments: str, bootstrap: str = broker.bootstrap) -> GatewayProcess:
        started.append(GatewayProcess(bootstrap, *arguments).start())
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def http(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with gateway.client() as client:
        yield client


@pytest.fixture(scope="session")
def admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})


@pytest.fixture
def new_topic(admin: AdminClient) -> Callable[..., str]:
    def create(partitions: int = 1, config: dict[str, str] | None = None) -> str:
        name = f"t-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config or {})
        admin.create_topics([topic])[name].result(SECONDS)
        return name

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic()
