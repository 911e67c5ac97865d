"""A disk that hangs: no sync comes back, and none fails. Others lead until it answers, and nothing acknowledged is lost."""

from pathlib import Path

import pytest

from chaos.cluster import CALM_SECONDS, Cluster
from chaos.disks import Disk
from chaos.world import World
from eventually import until

# Longer than what it waits for in turn: each wait has a time limit of its own, which says what it waited for.
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("role", ["leader", pytest.param("follower", marks=pytest.mark.long)])
def test_a_broker_whose_disk_hangs_is_replaced(role: str, tmp_path: Path) -> None:
    disks = [Disk(tmp_path, number) for number in (1, 2, 3)]
    with World(Cluster(tmp_path, [disk.host for disk in disks])) as world:
        leader = world.cluster.leader(world.places[0])
        victim = leader if role == "leader" else 1 + leader % 3
        disks[victim - 1].order(sync_hangs=1)
        until(
            lambda: victim not in map(world.cluster.leader, world.places), seconds=CALM_SECONDS, otherwise="it leads on"
        )
        world.until_progress()
        disks[victim - 1].heal()
        world.judge()
