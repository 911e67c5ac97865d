"""Three brokers on hosts of their own, their metadata in an etcd of three members: links that are cut, slow and lossy."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.faults import PROCESS_FAULTS
from chaos.link_faults import (
    LINK_FAULTS,
    LinkFault,
    cut_leader_from_followers,
    deafen_leader,
    isolate_leader_until_others_lead,
    on,
)
from chaos.network import Network, has_namespaces
from chaos.world import World
from etcd_cluster import EtcdCluster, MissingEtcd

pytestmark = [
    pytest.mark.skipif(not has_namespaces(), reason="network namespaces need root and /dev/net/tun"),
    # Longer than what it waits for in turn: each wait has a time limit of its own, which says what it waited for.
    pytest.mark.timeout(300),
]

ROUNDS = 3
STORM_SECONDS = 180


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network() as network:
        yield network
        network.heal()


@pytest.fixture(scope="module")
def etcd(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    try:
        etcd = EtcdCluster(tmp_path_factory.mktemp("etcd"), 3, host=network.store_address)
    except MissingEtcd as missing:
        pytest.skip(str(missing))
    with etcd:
        yield etcd


def test_nothing_is_lost(network: Network, etcd: EtcdCluster, tmp_path: Path) -> None:
    with world_on(network, etcd, tmp_path) as world:
        for fault in (isolate_leader_until_others_lead, cut_leader_from_followers, deafen_leader):
            world.suffer(on(network, fault))
        world.judge()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", LINK_FAULTS, ids=lambda fault: fault.__name__)
def test_nothing_is_lost_however_often(fault: LinkFault, network: Network, etcd: EtcdCluster, tmp_path: Path) -> None:
    with world_on(network, etcd, tmp_path) as world:
        for _ in range(ROUNDS):
            world.suffer(on(network, fault))
        world.judge()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nothing_is_lost_in_a_storm(network: Network, etcd: EtcdCluster, tmp_path: Path) -> None:
    """Links and processes fail in turn, and members of the store with them."""
    faults = [*PROCESS_FAULTS, *(on(network, fault) for fault in LINK_FAULTS)]
    with world_on(network, etcd, tmp_path) as world:
        end = time.monotonic() + STORM_SECONDS
        while time.monotonic() < end:
            member = world.rng.randrange(3)
            etcd.kill(member)
            world.suffer(world.rng.choice(faults))
            etcd.start(member)
            etcd.until_ready()
        world.judge()


def world_on(network: Network, etcd: EtcdCluster, folder: Path) -> World:
    network.heal()
    return World(Cluster(folder, network.hosts, etcd.url(f"/{folder.name}")))
