"""kill -9 of a group's coordinator while the group reads and commits: judged by what the members were told.

At least once: what was committed stays committed, every record is read by somebody, and none is skipped.
"""

import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from clients.client import WAIT_S, Refused
from clients.confluent import Confluent
from clients.line_program import ProgramFailed
from clients.members.member import Member, Read
from eventually import until
from headrace.admin.lag import PartitionLag, get_lag
from headrace.testing import Cluster

TOPIC, GROUP, PARTITIONS = "orders", "billing", 6
SETTINGS = {
    "group.min.session.timeout.ms": 500,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.heartbeat.interval.ms": 300,
    "group.consumer.session.timeout.ms": 6_000,
}


@pytest.fixture
def three() -> Iterator[Cluster]:
    with Cluster(3, SETTINGS) as cluster:
        Confluent(cluster.bootstrap).create_topic(TOPIC, PARTITIONS)
        yield cluster


class Stream:
    """A steady stream of records into all partitions."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(0.005):
            self._producer.produce(TOPIC, b"v", partition=number % PARTITIONS)
            self._producer.poll(0)
            number += 1

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        assert self._producer.flush(WAIT_S) == 0


class Worker:
    """A member that polls and commits, again and again, and notes every commit that was acknowledged."""

    def __init__(self, library: str, bootstrap: str, protocol: str) -> None:
        # Each protocol has its own assignors; both have this one.
        self.member = Member(
            library, bootstrap, GROUP, TOPIC, assignor="range", session_ms=6000, protocol=protocol
        ).join()
        self.acknowledged: dict[int, int] = {}
        self.failures: list[str] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.member.poll()
                # Its own dictionary each time: others look at it meanwhile.
                self.acknowledged = {**self.acknowledged, **self.member.commit()}
            except (ProgramFailed, Refused) as failure:
                self.failures.append(str(failure))

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def acknowledged(workers: list[Worker]) -> dict[int, int]:
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    for worker in workers:
        for partition, offset in worker.acknowledged.items():
            offsets[partition] = max(offset, offsets[partition])
    return offsets


def until_all(condition: Callable[[], bool], workers: list[Worker]) -> None:
    until(
        condition,
        otherwise=lambda: [(each.member.library, sorted(each.member.assigned), each.failures[-2:]) for each in workers],
    )


def until_all_go_on(workers: list[Worker]) -> None:
    """Every partition is read, and what is read is committed."""
    before = acknowledged(workers)
    until_all(lambda: all(offset > before[part] for part, offset in acknowledged(workers).items()), workers)


def check_committed(bootstrap: str, promised: dict[int, int]) -> list[PartitionLag]:
    lags = get_lag(bootstrap, GROUP)
    found = {lag.id.partition: lag.committed for lag in lags}
    assert {part: found.get(part, -1) for part, offset in promised.items() if found.get(part, -1) < offset} == {}
    return lags


def coordinator(bootstrap: str) -> int:
    admin = Confluent(bootstrap)._admin
    return admin.describe_consumer_groups([GROUP])[GROUP].result(WAIT_S).coordinator.id


GROUPS = [
    pytest.param([("confluent-kafka", "classic"), ("aiokafka", "classic"), ("franz-go", "classic")], id="classic"),
    pytest.param([("confluent-kafka", "consumer"), ("java", "consumer"), ("franz-go", "consumer")], id="consumer"),
    pytest.param(
        [("confluent-kafka", "consumer"), ("aiokafka", "classic"), ("franz-go", "consumer")],
        id="mixed",
        marks=pytest.mark.long,
    ),
]


@pytest.mark.parametrize("members", GROUPS)
def test_the_coordinator_is_killed(three: Cluster, members: list[tuple[str, str]]) -> None:
    stream = Stream(three.bootstrap)
    workers = [Worker(library, three.bootstrap, protocol) for library, protocol in members]
    try:
        until_all_go_on(workers)
        for _ in range(2):
            doomed = coordinator(three.bootstrap)
            promised = acknowledged(workers)
            three.kill(doomed)
            until_all_go_on(workers)
            check_committed(three.bootstrap, promised)
            three.start(doomed)
        stream.stop()
        until_all(lambda: all(lag.lag == 0 for lag in get_lag(three.bootstrap, GROUP)), workers)
    finally:
        for worker in workers:
            worker.stop()
            worker.member.kill()
    lags = check_committed(three.bootstrap, acknowledged(workers))
    read = {read for worker in workers for read in worker.member.reads}
    assert read == {Read(lag.id.partition, offset) for lag in lags for offset in range(lag.end)}
