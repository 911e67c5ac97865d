"""A broker that forms groups at once and forgets dead members soon, and groups on it."""

import uuid
from collections.abc import Callable, Iterator

import pytest
from group import Group

from clients.build import MissingTool, franz_go, java_classpath
from clients.client import Record
from clients.confluent import Confluent
from clients.members.member import Read
from headrace.testing import Broker

PARTITIONS = 6
SETTINGS = {
    "group.min.session.timeout.ms": 500,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.session.timeout.ms": 6_000,
    "group.consumer.assignment.interval.ms": 100,
}


@pytest.fixture(scope="session", autouse=True)
def tools() -> None:
    try:
        java_classpath()
        franz_go()
    except MissingTool as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    with Broker(SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def reference(bootstrap: str) -> Confluent:
    return Confluent(bootstrap)


@pytest.fixture
def topic(reference: Confluent) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    reference.create_topic(name, PARTITIONS)
    return name


@pytest.fixture
def fill(reference: Confluent, topic: str) -> Callable[[int], set[Read]]:
    """So many more records into every partition; all that are to be read from then on."""
    filled = [0]

    def fill(count: int) -> set[Read]:
        for partition in range(PARTITIONS):
            reference.produce(topic, [Record(None, b"v")] * count, partition=partition)
        first, filled[0] = filled[0], filled[0] + count
        return {Read(partition, offset) for partition in range(PARTITIONS) for offset in range(first, filled[0])}

    return fill


@pytest.fixture
def new_group(bootstrap: str, topic: str) -> Iterator[Callable[[], Group]]:
    made: list[Group] = []

    def new() -> Group:
        made.append(Group(bootstrap, f"g-{uuid.uuid4().hex[:12]}", topic, PARTITIONS))
        return made[-1]

    yield new
    for each in made:
        each.__exit__()


@pytest.fixture
def group(new_group: Callable[[], Group]) -> Group:
    return new_group()
