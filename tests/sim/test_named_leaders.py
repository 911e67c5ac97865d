"""Metadata names a dead leader, with its address, until another leads: some clients give a record up when there is none."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from sim.cluster import TOPIC, Cluster
from sim.host import PORT, Host
from sim.wireclient import WireClient

ASKED = MetadataRequest([MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
PAUSE_SECONDS = 0.002


@pytest.fixture(params=range(3))
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    made = Cluster(3, seed=f"named leaders {request.param}")
    made.start()
    yield made
    made.world.end()


class Asker:
    """Asks one broker for its Metadata, again and again."""

    def __init__(self, cluster: Cluster, host: Host) -> None:
        self.answers: list[Any] = []
        self._loop = cluster.world.client_loop(f"asker {host.id}")
        self._host = host
        cluster.world.spawn(self._loop, self._ask_on())

    async def _ask_on(self) -> None:
        link = await WireClient.open(self._loop, (self._host.address, PORT))
        while True:
            self.answers.append(await link.ask(ASKED, 12, 10.0))
            await asyncio.sleep(PAUSE_SECONDS)


def kill_leader(cluster: Cluster) -> tuple[int, list[Asker]]:
    leader = cluster.state.leader
    askers = [Asker(cluster, host) for host in cluster.world.hosts if host.id != leader]
    cluster.until(lambda: all(asker.answers for asker in askers))
    cluster.world.kill(cluster.world.hosts[leader - 1])
    return leader, askers


def test_there_is_always_a_leader(cluster: Cluster) -> None:
    cluster.create_topic()
    cluster.until(lambda: set(cluster.state.isr) == {1, 2, 3})
    dead, askers = kill_leader(cluster)
    cluster.until(lambda: cluster.state.leader not in (dead, -1))
    cluster.run(1.0)
    for asker in askers:
        for answer in asker.answers:
            (partition,) = answer.topics[0].partitions
            assert partition.error_code == ErrorCode.NONE
            assert partition.leader_id in {each.node_id for each in answer.brokers}
        assert partition.leader_id != dead
        assert dead not in {each.node_id for each in answer.brokers}


def test_the_only_replica_is_dead(cluster: Cluster) -> None:
    cluster.create_topic(factor=1)
    dead, askers = kill_leader(cluster)
    cluster.until(lambda: cluster.state.leader == -1)
    cluster.run(1.0)
    for asker in askers:
        (partition,) = asker.answers[-1].topics[0].partitions
        assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
        assert list(partition.offline_replicas) == [dead]
        assert dead not in {each.node_id for each in asker.answers[-1].brokers}
