"""A coordinator that reads its log, on a partition that goes meanwhile."""

import asyncio
from types import SimpleNamespace
from typing import Any

from batches import NOW, batch
from headrace.broker.coordinators.group import GroupCoordinator
from headrace.broker.coordinators.log_replay import LOAD_BYTES
from headrace.broker.upkeep.credible_time import CredibleTime
from headrace.cluster.entities import PartitionState
from headrace.groups.coordinator import Groups
from headrace.groups.settings import GroupSettings
from partition_rig import PartitionRig

WITH_A_FOLLOWER = PartitionState((1, 2), (1, 2), 1, 5)


def loading(rig: PartitionRig) -> GroupCoordinator:
    clock = SimpleNamespace(mono=lambda: NOW.mono)
    rot = SimpleNamespace(accepted_end=lambda partition: 0)
    broker: Any = SimpleNamespace(
        check_lease=lambda: NOW,
        clock=clock,
        credible_time=CredibleTime(NOW),
        deadlines=None,
        rot=rot,
        loading=asyncio.Lock(),
    )
    return GroupCoordinator(broker, rig.partition, Groups(GroupSettings()))


def test_it_ends_though_nothing_more_will_ever_be_committed_there() -> None:
    rig = PartitionRig(WITH_A_FOLLOWER)
    rig.append(batch(b"never committed"))
    rig.sync()
    coordinator = loading(rig)
    work = rig.loop.create_task(coordinator.load())
    # Before it waits for the commit: it is still reading.
    rig.partition.end()
    rig.loop.run_ready()
    assert work.done()
    assert (coordinator.decisions.is_over, coordinator.decisions.is_active) == (True, False)


def test_it_reads_no_further_when_the_files_are_gone() -> None:
    rig = PartitionRig()
    for _ in range(3):
        rig.append(batch(bytes(LOAD_BYTES)))
    rig.sync()
    coordinator = loading(rig)

    async def move_away() -> None:
        # While it waits for its turn to read on. That the coordinator goes too is told later, if much has changed.
        async with coordinator._broker.loading:
            rig.partition.end()
            rig.partition.log.drop()

    work = rig.loop.create_task(coordinator.load())
    rig.loop.create_task(move_away())
    rig.loop.run_ready()
    assert work.exception() is None
    assert coordinator.decisions.is_over
