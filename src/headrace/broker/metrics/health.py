"""Whether this broker lives (`/livez`) and whether it does its share (`/readyz`): for service managers and orchestrators.

Alive: the event loop turns, since it answers, and the lease is being asked for. Not to hold one is no reason for a restart:
while the metadata store is away no broker has one, and each takes its own again when the store is back.

Ready: registered with a lease, not leaving, a disk that answers, all partitions open, and in sync wherever it holds a
replica, except for those that are only on their way here. So whoever restarts brokers one after the other, and waits
until each is ready, never takes the second of two copies away.
"""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

# Each try ends by itself within a few seconds, answered or not.
UNTRIED_SECONDS_MAX = 60.0
PARTITIONS_PER_TURN = 5000


class Check(NamedTuple):
    name: str
    is_passed: bool
    detail: str


def liveness(broker: "Broker") -> list[Check]:
    if not hasattr(broker, "membership"):
        return [Check("lease", True, "not asked for yet: the logs are being opened")]
    silent_seconds = broker.clock.now().mono - broker.membership.tried_at
    if broker.disk_watch.is_hung:
        return [Check("lease", True, "given back until the disk answers")]
    return [Check("lease", silent_seconds < UNTRIED_SECONDS_MAX, f"asked for {silent_seconds:.1f} s ago")]


async def readiness(broker: "Broker") -> list[Check]:
    if not hasattr(broker, "membership"):
        return [Check("start", False, "the logs are being opened")]
    return [*_place_in_the_cluster(broker), _opened(broker), await _in_sync(broker)]


def _place_in_the_cluster(broker: "Broker") -> Iterator[Check]:
    left = broker.membership.deadline - broker.clock.now().mono
    is_held = not broker.partitions.is_fenced and left > 0
    yield Check("lease", is_held, f"held for {left:.1f} s more" if is_held else "not held: nothing is answered")
    registered = broker.image.brokers.get(broker.id)
    is_registered = registered is not None and registered.epoch == broker.view.epoch >= 0
    yield Check(
        "registered", is_registered, f"in epoch {broker.view.epoch}" if is_registered else "not yet, or not any more"
    )
    is_leaving = broker.listeners.is_draining or (registered is not None and registered.leaving)
    yield Check("staying", not is_leaving, "it hands over and stops" if is_leaving else "yes")
    is_hung = broker.disk_watch.is_hung
    yield Check("disk", not is_hung, "completes nothing" if is_hung else "answers")


def _opened(broker: "Broker") -> Check:
    unopened = broker.hosting.openings.unopened
    return Check("partitions", not unopened, f"{len(broker.partitions)} open, {unopened} not")


async def _in_sync(broker: "Broker") -> Check:
    lagging = 0
    for count, partition in enumerate(list(broker.partitions), 1):
        state = partition.state
        lagging += broker.id not in state.isr and broker.id not in state.adding
        if count % PARTITIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    return Check("in_sync", not lagging, f"{lagging} replicas are behind" if lagging else "everywhere")
