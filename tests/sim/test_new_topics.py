"""Metadata names a leader of a new partition only when it leads, and CreateTopics is answered when all brokers name all."""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.topics import (
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
)
from sim.cluster import TOPIC, Cluster
from sim.host import PORT, Host
from sim.wireclient import WireClient

SEEDS = range(3)
PARTITIONS = 12
# News of a change of metadata, at the broker that hears of it last.
LATE_SECONDS = 0.3


@pytest.fixture(params=SEEDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    made = Cluster(3, seed=f"new topics {request.param}", settings={"auto.create.topics.enable": "true"})
    yield made
    made.world.end()


class Asker:
    """Asks one broker for its Metadata all the time, and notes what it named that was not so."""

    def __init__(self, cluster: Cluster, host: Host) -> None:
        self.wrong: list[str] = []
        self.stopping = False
        self.named = 0
        self._cluster = cluster
        self._host = host
        self._loop = cluster.world.client_loop(f"asker {host.id}")
        self.task = cluster.world.spawn(self._loop, self._ask_on())

    async def _ask_on(self) -> None:
        link = await WireClient.open(self._loop, (self._host.address, PORT), self._hear)
        while not self.stopping:
            await link.ask(by_name(), 12, 10.0)
        link.close()

    def _hear(self, _: str, __: Any, response: Any) -> None:
        """At the moment in which the broker answers."""
        for part in response.topics[0].partitions:
            if part.error_code == ErrorCode.NONE:
                leader = self._cluster.world.hosts[part.leader_id - 1].partition(TOPIC, part.partition_index)
                self.named += 1
                if leader is None or not leader.is_leader:
                    self.wrong.append(f"broker {self._host.id} named {part.leader_id} for {part.partition_index}")


def by_name(create: bool = False) -> MetadataRequest:
    return MetadataRequest([MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=create)


def told(cluster: Cluster, host: Host, request: Any, version: int) -> Any:
    loop = cluster.world.client_loop(f"client {len(cluster.world.loops)}")

    async def ask() -> Any:
        link = await WireClient.open(loop, (host.address, PORT))
        answer = await link.ask(request, version, 25.0)
        link.close()
        return answer

    task = cluster.world.spawn(loop, ask())
    cluster.until(task.done)
    return task.result()


def create(
    cluster: Cluster, host: Host, partitions: int = PARTITIONS, factor: int = 3, timeout_ms: int = 20_000
) -> None:
    request = CreateTopicsRequest([CreatableTopic(TOPIC, partitions, factor)], timeout_ms=timeout_ms)
    assert told(cluster, host, request, 7).topics[0].error_code == 0


def named_at(cluster: Cluster, host: Host) -> list[int]:
    """Partitions whose leader this broker names."""
    (topic,) = told(cluster, host, by_name(), 12).topics
    return [part.partition_index for part in topic.partitions if part.error_code == ErrorCode.NONE]


def make_one_late(cluster: Cluster, host: Host, seconds: float = LATE_SECONDS) -> None:
    async def late() -> None:
        await asyncio.sleep(seconds * Random(host.id).uniform(0.5, 1.0))

    host.store._until_heard = late  # type: ignore[union-attr, method-assign]


def test_no_broker_names_a_leader_that_does_not_lead(cluster: Cluster) -> None:
    cluster.start()
    first, second, third = cluster.world.hosts
    make_one_late(cluster, third)
    askers = [Asker(cluster, host) for host in (first, second, third)]
    create(cluster, first)
    for host in cluster.world.hosts:
        assert named_at(cluster, host) == list(range(PARTITIONS))
    wanted = CreatePartitionsTopic(TOPIC, 2 * PARTITIONS, None)
    assert told(cluster, second, CreatePartitionsRequest([wanted], 20_000), 3).results[0].error_code == 0
    for host in cluster.world.hosts:
        assert named_at(cluster, host) == list(range(2 * PARTITIONS))
    for asker in askers:
        asker.stopping = True
    cluster.until(lambda: all(asker.task.done() for asker in askers))
    assert [asker.wrong for asker in askers] == [[], [], []]
    assert all(asker.named for asker in askers)


def test_a_topic_that_is_created_on_mention_is_answered_with_its_leaders(cluster: Cluster) -> None:
    cluster.start()
    _, second, third = cluster.world.hosts
    make_one_late(cluster, third)
    (made,) = told(cluster, second, by_name(create=True), 12).topics
    assert [part.error_code for part in made.partitions] == [0]
    for host in cluster.world.hosts:
        assert named_at(cluster, host) == [0]


def test_who_allows_little_time_is_answered_in_it_and_told_of_no_leader_yet(cluster: Cluster) -> None:
    cluster.start()
    first, _, third = cluster.world.hosts
    make_one_late(cluster, third, 1.5)
    began = cluster.agenda.now
    create(cluster, first, timeout_ms=300)
    assert cluster.agenda.now - began < 0.6
    (topic,) = told(cluster, first, by_name(), 12).topics
    waiting = {part.partition_index for part in topic.partitions if part.error_code == ErrorCode.LEADER_NOT_AVAILABLE}
    led = {part.partition_index for part in topic.partitions if part.error_code == ErrorCode.NONE}
    assert len(waiting | led) == PARTITIONS and led
    image = cluster.checks.image()
    assert {image.partition(TOPIC, index).leader for index in waiting} == {third.id}
    cluster.run(3.0)
    assert named_at(cluster, first) == list(range(PARTITIONS))


@pytest.mark.parametrize("seconds_dead", [0.0, 10.0], ids=["dead a moment ago", "dead for long"])
def test_a_dead_broker_is_waited_for_as_long_as_its_lease(cluster: Cluster, seconds_dead: float) -> None:
    cluster.start()
    first, second, third = cluster.world.hosts
    cluster.world.kill(third)
    cluster.run(seconds_dead)
    began = cluster.agenda.now
    create(cluster, first, factor=2)
    assert cluster.agenda.now - began < (1.0 if seconds_dead else 4.0)
    for host in (first, second):
        assert named_at(cluster, host) == list(range(PARTITIONS))


def test_a_broker_that_only_we_cannot_reach_is_waited_for_once(cluster: Cluster) -> None:
    cluster.start()
    first, second, third = cluster.world.hosts
    cluster.world.network.cut(first.address, third.address)
    began = cluster.agenda.now
    create(cluster, first)
    assert cluster.agenda.now - began < 6.0
    assert len(named_at(cluster, second)) == PARTITIONS
