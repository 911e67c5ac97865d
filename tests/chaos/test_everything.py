"""All faults of processes and disks beside every kind of client: groups, transactions, administration, compaction and
readers of other racks run through the storm, each judged in its own way, on segments of the default size."""

import time
from pathlib import Path

import pytest

from chaos.administration import Administration
from chaos.cluster import Cluster, Host
from chaos.faults import SQLITE_FAULTS, Fault
from chaos.freezer import has_freezer
from chaos.guest import Guest
from chaos.hang_faults import HANG_FAULTS, freeze_leader, hang_leader_disk, on
from chaos.hung_disks import HungDisks, can_hang
from chaos.keyed import Keyed
from chaos.members import Members
from chaos.transfers import Transfers
from chaos.world import World

pytestmark = [
    pytest.mark.skipif(not can_hang(), reason="a disk that hangs needs root, loop devices and fsfreeze"),
    pytest.mark.skipif(not has_freezer(), reason="the kernel's freezer needs root and cgroup v2"),
]

STORM_SECONDS = 20 * 60
# Slow enough that all of twenty minutes is read back in one.
BURST_SECONDS = 0.2
RACKS = ("east", "west", "north")


# Every wait in it has a time limit of its own, which says what it waited for.
@pytest.mark.timeout(600)
def test_every_client_keeps_its_promises_through_a_few_faults(tmp_path: Path) -> None:
    """Those that `test_process_faults` has not."""
    with HungDisks(tmp_path) as disks, world_of(tmp_path) as world:
        for fault in (freeze_leader, on(disks, hang_leader_disk)):
            world.suffer(fault)
        world.judge()


@pytest.mark.long
@pytest.mark.timeout(0)
def test_every_client_keeps_its_promises_for_twenty_minutes(tmp_path: Path) -> None:
    with HungDisks(tmp_path) as disks, world_of(tmp_path) as world:
        faults: list[Fault] = [*SQLITE_FAULTS, freeze_leader, *(on(disks, fault) for fault in HANG_FAULTS)]
        end = time.monotonic() + STORM_SECONDS
        while time.monotonic() < end:
            world.suffer(world.rng.choice(faults))
        world.judge()


def world_of(data: Path) -> World:
    hosts = [Host(number, rack=rack) for number, rack in enumerate(RACKS, 1)]
    return World(Cluster(data, hosts), guests=guests(), racks=RACKS[:2], burst_seconds=BURST_SECONDS)


def guests() -> list[Guest]:
    return [
        Transfers(),
        Members("durable", "classic"),
        Members("rolled", "consumer"),
        Administration(["durable", "relaxed", "rolled"]),
        Keyed(),
    ]
