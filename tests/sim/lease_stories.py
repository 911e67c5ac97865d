"""Stories of leases: a leader that does not know yet, or does not look, that its lease has run out."""

import asyncio

from headrace.cluster.store import Lease
from sim.store import SimStore
from sim.story import BusyCluster, Story


class LateAnswers:
    """Renewals of a broker are done at once, and it hears so late."""

    def __init__(self, store: SimStore, seconds: float) -> None:
        self.seconds = seconds
        self._renew = store.renew
        store.renew = self._hear_late  # type: ignore[method-assign]

    async def _hear_late(self, lease: Lease) -> None:
        await self._renew(lease)
        await asyncio.sleep(self.seconds)


def the_answers_of_renewals_come_late(cluster: BusyCluster) -> None:
    """The next renewal is sent when the lease has run out, or nearly so."""
    leader = cluster.leader
    assert leader.store is not None
    answers = LateAnswers(leader.store, cluster.rng.uniform(1.2, 1.9))
    cluster.run(6.0)
    answers.seconds = 0.0
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_sync_ends_after_the_lease(cluster: BusyCluster) -> None:
    """What the leader appended before waits for its own disk alone."""
    leader = cluster.leader
    leader.slowness = cluster.rng.uniform(300.0, 1500.0)
    leader.cut_store(True)
    cluster.run(4.0)
    leader.cut_store(False)
    leader.slowness = 1.0
    cluster.stop_producers()
    cluster.run(max(0.0, leader.slow_until - cluster.agenda.now))
    cluster.until(lambda: len(cluster.state.isr) == 3)


LATE_ANSWERS = Story(the_answers_of_renewals_come_late)
LATE_SYNC = Story(a_sync_ends_after_the_lease, {"log.disk.hang.timeout.ms": "0"})

LEASE_STORIES = (LATE_ANSWERS, LATE_SYNC)
