"""Clients of a broker that hangs lose their other connections once, and so look for leaders; those of the dead do not."""

from collections.abc import Callable, Iterator

import pytest

from headrace.wire.messages.api_versions import ApiVersionsRequest
from sim.cluster import Cluster
from sim.host import PORT, Host
from sim.wireclient import WireClient

NAMED_SINCE = 3


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(3)
    made.start()
    made.create_topic(min_insync_replicas="2")
    yield made
    made.world.end()


def clients_closed(cluster: Cluster, trouble: Callable[[Host], object], library: str = "librdkafka") -> list[bool]:
    """Of each of two clients, one at each other broker: whether its connection is closed when the leader is in trouble."""
    victim = cluster.world.hosts[cluster.state.leader - 1]
    loop = cluster.world.client_loop("clients")
    links: list[WireClient] = []

    async def connect() -> None:
        for host in cluster.world.hosts:
            if host is not victim:
                link = await WireClient.open(loop, (host.address, PORT))
                await link.ask(ApiVersionsRequest("a-binding", f"1.0-{library}-2.0"), NAMED_SINCE)
                links.append(link)

    cluster.until(cluster.world.spawn(loop, connect()).done)
    trouble(victim)
    cluster.run(5.0)
    return [link.is_lost for link in links]


def pause(cluster: Cluster) -> Callable[[Host], None]:
    return lambda host: cluster.world.pause(host, 60.0)


def test_when_a_broker_stands_still(cluster: Cluster) -> None:
    assert clients_closed(cluster, pause(cluster)) == [True, True]


def test_not_those_that_would_lose_by_it(cluster: Cluster) -> None:
    assert clients_closed(cluster, pause(cluster), "apache-kafka-java") == [False, False]


def test_not_when_it_dies(cluster: Cluster) -> None:
    assert clients_closed(cluster, cluster.world.kill) == [False, False]


def test_not_when_it_stops(cluster: Cluster) -> None:
    assert clients_closed(cluster, cluster.world.stop) == [False, False]


def test_not_when_it_only_loses_its_lease(cluster: Cluster) -> None:
    """It answers, and tells its clients itself that it leads no more."""

    def cut_store(host: Host) -> None:
        host.store_is_cut = True

    assert clients_closed(cluster, cut_store) == [False, False]


def test_not_when_it_is_switched_off() -> None:
    cluster = Cluster(3, settings={"connections.close.on.hung.broker": "false"})
    cluster.start()
    cluster.create_topic(min_insync_replicas="2")
    assert clients_closed(cluster, pause(cluster)) == [False, False]
    cluster.world.end()
