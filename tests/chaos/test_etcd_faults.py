"""Three brokers with their metadata in a real etcd of three members: brokers and members die together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.faults import PROCESS_FAULTS, kill_controller, kill_leader
from chaos.world import World
from etcd_cluster import EtcdCluster, MissingEtcd

# Longer than what it waits for in turn: each wait has a time limit of its own, which says what it waited for.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdCluster]:
    try:
        etcd = EtcdCluster(tmp_path / "etcd", 3)
    except MissingEtcd as missing:
        pytest.skip(str(missing))
    with etcd:
        yield etcd


def test_a_broker_and_the_leading_member_die_together(etcd: EtcdCluster, tmp_path: Path) -> None:
    with World(Cluster(tmp_path, store=etcd.url())) as world:
        world.a_moment()
        member = etcd.leader()
        etcd.kill(member)
        kill_leader(world)
        etcd.start(member)
        kill_controller(world)
        world.judge()


@pytest.mark.long
def test_members_without_a_majority(etcd: EtcdCluster, tmp_path: Path) -> None:
    """Nothing can be decided, so leases run out and nothing is acknowledged; when one member is back, all goes on."""
    with World(Cluster(tmp_path, store=etcd.url())) as world:
        down = world.rng.sample(range(3), k=2)
        for member in down:
            etcd.kill(member)
        world.a_moment(1, 5)
        etcd.start(down[0])
        world.until_progress()
        etcd.start(down[1])
        world.judge()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_brokers_and_members_in_turn(etcd: EtcdCluster, tmp_path: Path) -> None:
    with World(Cluster(tmp_path, store=etcd.url())) as world:
        for fault in world.rng.sample(PROCESS_FAULTS, k=len(PROCESS_FAULTS)):
            member = world.rng.randrange(3)
            print(f"fault: {fault.__name__}, and member {member}")
            if world.rng.random() < 0.3:
                etcd.pause(member)
                fault(world)
                etcd.resume(member)
            else:
                etcd.kill(member)
                fault(world)
                etcd.start(member)
            # Else the next one to die would take the majority with it, and no broker could start.
            etcd.until_ready()
            world.until_progress()
        world.judge()
