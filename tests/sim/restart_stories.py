"""Stories of a follower whose log ends before its leader's begins, so that it has to start over there."""

import asyncio
from random import Random
from typing import Any

from sim.clients import Directory, delete_records
from sim.cluster import TOPIC
from sim.host import Host
from sim.story import BusyCluster, Story


class HeldStart:
    """The next start of a log that a broker writes down for a cut takes its time to the disk."""

    def __init__(self, host: Host) -> None:
        self.is_held = False
        self._let_go = asyncio.Event()
        assert host.node is not None
        self._checkpoints = host.node.broker.hosting.checkpoints
        self._save = self._checkpoints._save_file
        self._checkpoints._save_file = self._hold  # type: ignore[method-assign]

    async def _hold(self, path: str, offsets: Any, frees: bool = False) -> None:
        if path == self._checkpoints._start_offsets_path and frees:
            self.is_held = True
            await self._let_go.wait()
        await self._save(path, offsets, frees)

    def let_go(self) -> None:
        self._let_go.set()


def _delete_all(cluster: BusyCluster) -> None:
    """Up to what is committed. Nobody else hears of it from this leader."""
    leader = cluster.partition(cluster.leader.id)
    loop = cluster.world.client_loop("admin")
    directory = Directory(cluster.world, loop, Random(1))
    before = leader.high_watermark
    cluster.checks.on_deletion(TOPIC, 0, before)

    async def delete() -> None:
        while leader.log.start_offset < before:
            await delete_records(directory, TOPIC, 0, before)
            await directory.back_off()

    cluster.until(cluster.world.spawn(loop, delete()).done)


def a_follower_starts_over_for_a_leader_that_was_replaced(cluster: BusyCluster) -> None:
    """It waits for its disk. Meanwhile another leads, which has all that this one lacks, and it joins that one's set."""
    behind = cluster.kill_a_follower()
    cluster.watch(1.0)
    former = cluster.leader
    successor = next(host for host in cluster.follower_hosts if host is not behind)
    cluster.cut_off(former)
    _delete_all(cluster)
    cluster.world.start(behind)
    cluster.until(lambda: behind.is_serving and cluster.partition(behind.id) is not None)
    held = HeldStart(behind)
    cluster.mend(former, behind)
    cluster.until(lambda: held.is_held)
    cluster.decide(successor)
    cluster.until(lambda: cluster.partition(successor.id).is_leader)
    cluster.world.network.mend_all()
    cluster.until(lambda: behind.id in cluster.state.isr)
    cluster.watch(1.0)
    cluster.cut_off(behind)
    held.let_go()
    cluster.run(cluster.rng.uniform(0.05, 0.3))
    if behind.id in cluster.state.isr:
        cluster.decide(behind)
    cluster.world.network.mend_all()
    cluster.until(lambda: len(cluster.state.isr) == 3)


REPLACED = Story(a_follower_starts_over_for_a_leader_that_was_replaced)
