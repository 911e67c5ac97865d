"""Disks that fail, are slow, or full: the broker that stands on one stops or waits, and nothing acknowledged is lost."""

import errno
import os
import time
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.disks import Disk, fill, small_disk
from chaos.world import World

# Longer than what it waits for in turn: each wait has a time limit of its own, which says what it waited for.
pytestmark = pytest.mark.timeout(300)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")


@pytest.mark.parametrize("order", ["sync_errno", pytest.param("write_errno", marks=pytest.mark.long)])
def test_a_disk_that_fails_stops_its_broker(order: str, tmp_path: Path) -> None:
    disks = [Disk(tmp_path, number) for number in (1, 2, 3)]
    with World(Cluster(tmp_path, [disk.host for disk in disks])) as world:
        victim = world.any_leader()
        disks[victim - 1].order(**{order: errno.EIO})
        assert "Input/output error" in str(world.cluster.until_dead(victim))
        world.until_progress()
        disks[victim - 1].heal()
        world.cluster.start(victim)
        world.judge()


@pytest.mark.long
@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_slow_disk_costs_time_only(role: str, tmp_path: Path) -> None:
    """On the leader, and on another than the leader of the first partition."""
    disks = [Disk(tmp_path, number) for number in (1, 2, 3)]
    with World(Cluster(tmp_path, [disk.host for disk in disks])) as world:
        leader = world.cluster.leader(world.places[0])
        victim = leader if role == "leader" else 1 + leader % 3
        disks[victim - 1].order(sync_seconds=world.rng.uniform(0.2, 1.0), write_share=0.5)
        time.sleep(4)
        world.until_progress()
        disks[victim - 1].heal()
        world.judge()


@needs_root
def test_a_full_disk_refuses_and_recovers(tmp_path: Path) -> None:
    with small_disk(tmp_path / "broker-1") as small, World(Cluster(tmp_path)) as world:
        ballast = fill(small)
        time.sleep(3)
        elsewhere = [place for place in world.places if world.cluster.leader(place) != 1]
        world.until_progress(elsewhere)
        ballast.unlink()
        world.until_progress()
        world.judge()


@needs_root
@pytest.mark.long
def test_a_broker_that_is_killed_with_a_full_disk_comes_back(tmp_path: Path) -> None:
    with small_disk(tmp_path / "broker-1") as small, World(Cluster(tmp_path)) as world:
        ballast = fill(small)
        world.a_moment(1, 2)
        world.cluster.kill(1)
        world.until_progress()
        ballast.unlink()
        world.cluster.start(1)
        world.judge()
