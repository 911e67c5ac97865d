"""Storms made for one kind of mistake each: what is rare elsewhere happens all the time here.

cuts            leaders that change every moment while disks are slow: tails that part, cuts beside syncs
lone-leaders    both followers go, the leader is alone, then it goes too and the others come back
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from headrace.wire.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from sim.clients import Directory, ask_once
from sim.config_churn import ALTER_CONFIGS, SET, TOPIC_RESOURCE

if TYPE_CHECKING:
    from sim.faults import Faults
    from sim.host import Host

SHORT_SECONDS: Final = (0.05, 1.0)
# Longer than a lease, so that the in-sync set has noticed.
ALONE_SECONDS: Final = (2.2, 4.0)


def cut_off_leader(faults: "Faults") -> None:
    """From its followers only: clients go on writing to it, and nothing of that is committed."""
    host = faults.leader_host()
    peers = [other.address for other in faults.world.hosts if other is not host]
    links = [link for peer in peers for link in ((host.address, peer), (peer, host.address))]
    faults.world.say("network", f"{host.name} is cut off from the others")
    for link in links:
        faults.world.network.cut(*link)
    faults.world.agenda.after(faults.rng.uniform(*SHORT_SECONDS), _mend, faults, links)


def _mend(faults: "Faults", links: list[tuple[str, str]]) -> None:
    for link in links:
        faults.world.network.mend(*link)


def bounce_leader(faults: "Faults") -> None:
    """Its process dies and is back at once: another leads, and it has a tail to cut."""
    host = faults.leader_host()
    if host.is_up:
        faults.world.kill(host)
        faults.world.agenda.after(faults.rng.uniform(*SHORT_SECONDS), faults.world.start, host)


def leave_leader_alone(faults: "Faults") -> None:
    """Its followers die at once; a while later it dies too, and they come back before it does."""
    state = _state(faults)
    if state is None or state.leader < 1:
        return
    leader = faults.world.hosts[state.leader - 1]
    others = [faults.world.hosts[each - 1] for each in state.replicas if each != state.leader]
    for host in others:
        _down(faults, host)
    alone = faults.rng.uniform(*ALONE_SECONDS)
    faults.harm_after(alone, _down, faults, leader)
    back = alone + faults.rng.uniform(0.05, 0.5)
    for host in others:
        faults.world.agenda.after(back, faults.world.start, host)
    faults.world.agenda.after(back + faults.rng.uniform(2.5, 5.0), faults.world.start, leader)


def _down(faults: "Faults", host: "Host") -> None:
    if host.is_up:
        faults.world.kill(host)


def _state(faults: "Faults") -> Any:
    topic = faults.image().topics.get("orders")
    return None if topic is None else topic.partitions[0]


def lower_min_isr(faults: "Faults") -> None:
    """For a while: what is committed then may be on one replica only, which must be the one that leads next."""
    seconds = faults.rng.uniform(0.3, 4.0)
    faults.administer(lambda directory: lower_for(directory, seconds))


async def lower_for(directory: Directory, seconds: float) -> None:
    for value in ("1", "2"):
        change = IncrementalAlterableConfig("min.insync.replicas", SET, value)
        request = IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(TOPIC_RESOURCE, "orders", [change])])
        await ask_once(directory, request, ALTER_CONFIGS)
        await asyncio.sleep(seconds)
