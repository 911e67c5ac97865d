"""A follower's own tail, which another leader may not have: it is on disk before anything is fetched."""

import asyncio
from types import SimpleNamespace
from typing import Any

from batches import NOW, batch
from headrace.broker.replication.fetcher import Fetcher
from headrace.cluster.entities import PartitionState
from partition_rig import PartitionRig

LED = PartitionState((1, 2, 3), (1, 2), 1, 5)
FOLLOWED = LED._replace(leader=2, leader_epoch=6)
NO_CATCH_UP: Any = None


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def follow_through_a_change_of_state() -> list[bool]:
    """Whether it waits no more: at first, after the state changed, after the sync."""
    rig = PartitionRig(LED)
    rig.append(batch(b"a"), acks=1)
    rig.partition.on_state(FOLLOWED, NOW)
    broker: Any = SimpleNamespace(
        id=1,
        clock=SimpleNamespace(now=lambda: NOW),
        hosting=SimpleNamespace(checkpoints=SimpleNamespace(before_cut=None)),
        isr_keeper=SimpleNamespace(leave=None),
        disk_room=SimpleNamespace(check_copy=None),
    )
    fetcher = Fetcher(broker, 2, NO_CATCH_UP)
    fetcher.follow(rig.partition)
    waiting = asyncio.create_task(fetcher._until_proven())
    done = []
    await turns()
    done.append(waiting.done())
    rig.partition.on_state(FOLLOWED._replace(leader_epoch=7), NOW)
    rig.carry_out()
    fetcher.follow(rig.partition)
    await turns()
    done.append(waiting.done())
    rig.sync()
    await turns()
    done.append(waiting.done())
    return done


def test_a_change_of_state_does_not_end_the_wait_for_the_sync() -> None:
    assert asyncio.run(follow_through_a_change_of_state()) == [False, False, True]
