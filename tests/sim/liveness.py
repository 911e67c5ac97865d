"""Whether acks go on during a storm wherever enough brokers are well, whatever becomes of the others.

    well      serves, unpaused, not fenced, reaches the store, has a quick and sound disk: for WELL_SECONDS without a break
    gone      does not run, stands still, cannot reach the store, or its disk hangs: it must not lead for long
    full      has no room for clients' writes: it must not lead for long either, though all it knows is in order
    neither   slow, just started: nothing is promised where such a one leads

A partition must go on when some well replicas, linked with each other, are a majority of its replicas and
min.insync.replicas, one of them holds all that is committed, and its leader is among them, gone or full. To go on is to
have a leader among them that has enough in-sync replicas and whose watermark moves while there is something to commit; it
may stand still for STUCK_SECONDS_MAX, the lease plus a second, when a leader is lost or hangs.

Looks at brokers, not at clients: how long a client waits for a broker that stands still is its own affair.
"""

from itertools import combinations
from typing import Any, NamedTuple

from headrace.cluster.entities import NO_LEADER, PartitionState, Topic
from sim.checks import Checks
from sim.host import Host
from sim.world import World

WELL_SECONDS = 5.0
STUCK_SECONDS_MAX = 3.0
SLOWNESS_MAX = 5.0


class Stuck(NamedTuple):
    since: float
    watermark: int


class Liveness:
    def __init__(self, world: World, checks: Checks, seconds_max: float = STUCK_SECONDS_MAX) -> None:
        self._world = world
        self._checks = checks
        self._seconds_max = seconds_max
        self._unwell_at: dict[int, float] = {}
        self._unlinked_at: dict[tuple[int, int], float] = {}
        self._lives: dict[int, int] = {}
        # By topic id: a partition that is made again under its name has a time of its own.
        self._stuck: dict[tuple[bytes, int], Stuck] = {}

    def look(self) -> None:
        """After every fault and every little while: what lasts for less is not seen."""
        self._look_at_hosts()
        topics = self._checks.image().topics.values()
        there = {(topic.id, index) for topic in topics for index in range(len(topic.partitions))}
        self._stuck = {place: each for place, each in self._stuck.items() if place in there}
        for topic in topics:
            for index, state in enumerate(topic.partitions):
                self._look_at(topic, index, state)

    def _look_at_hosts(self) -> None:
        now = self._world.agenda.now
        for host in self._world.hosts:
            if self._trouble(host) or self._lives.get(host.id) != host.lives:
                self._unwell_at[host.id] = now
            self._lives[host.id] = host.lives
        for one, other in combinations(self._world.hosts, 2):
            if not self._world.network.is_fine(one.address, other.address):
                self._unlinked_at[one.id, other.id] = now

    def _trouble(self, host: Host) -> bool:
        disk = host.disk
        return (
            not host.answers
            or host.loop.is_paused
            or host.store_is_cut
            or bool(self._world.slow_commits.seconds_max)
            or host.slowness > SLOWNESS_MAX
            or host.slow_until > self._world.agenda.now
            or disk.capacity_bytes is not None
            or bool(disk.fail_syncs)
            or disk.is_failing
            or host.disk_hangs
        )

    def _is_gone(self, host: Host) -> bool:
        return not host.is_up or host.loop.is_paused or host.store_is_cut or host.disk_hangs

    def _is_full(self, host: Host) -> bool:
        capacity, node = host.disk.capacity_bytes, host.node
        if capacity is None or node is None or not host.answers:
            return False
        return capacity - host.disk.used_bytes() < node.broker.disk_room.reserve_bytes

    # -- partitions ------------------------------------------------------------------------------------------------

    def _look_at(self, topic: Topic, index: int, state: PartitionState) -> None:
        now, place = self._world.agenda.now, (topic.id, index)
        why = self._why_stuck(topic.name, index, state)
        known = self._stuck.get(place)
        watermark = self._watermark(topic.name, index, state)
        if not why or known is None or watermark != known.watermark:
            self._stuck[place] = Stuck(now, watermark)
        elif now - known.since > self._seconds_max:
            self._checks.fail("goes-on", f"{topic.name}-{index} for {now - known.since:.1f} s: {why}; {state}")

    def _watermark(self, topic: str, index: int, state: PartitionState) -> int:
        leader = self._leader(topic, index, state)
        return -1 if leader is None else int(leader.high_watermark)

    def _leader(self, topic: str, index: int, state: PartitionState) -> Any:
        """As it leads, not only as the store says."""
        if state.leader == NO_LEADER:
            return None
        host = self._world.hosts[state.leader - 1]
        partition = host.partition(topic, index) if host.answers else None
        leads = partition is not None and partition.is_leader and partition.leader_epoch == state.leader_epoch
        return partition if leads else None

    def _why_stuck(self, topic: str, index: int, state: PartitionState) -> str:
        """Nothing when it goes on, or need not."""
        well = self._well_replicas(topic, index, state)
        if not well:
            return ""
        leader = self._leader(topic, index, state)
        if leader is None:
            return f"brokers {well} are well, and none of them leads"
        if state.leader not in well and self._is_full(self._world.hosts[state.leader - 1]):
            return f"brokers {well} are well, and {state.leader}, whose disk is full, leads"
        if not leader.leader.has_min_isr:
            return f"brokers {well} are well, and too few are in sync"
        if leader.high_watermark < leader.log.end_offset:
            return f"brokers {well} are well, {leader.high_watermark} of {leader.log.end_offset} is committed"
        return ""

    def _well_replicas(self, topic: str, index: int, state: PartitionState) -> tuple[int, ...]:
        """Those that must be able to go on by themselves, in the midst of a move too; none when nothing is promised."""
        now = self._world.agenda.now
        well = [each for each in state.replicas if now - self._unwell_at.get(each, now) > WELL_SECONDS]
        least = max(len(state.replicas) // 2 + 1, self._min_isr(topic, index, well))
        for size in range(len(well), least - 1, -1):
            for some in combinations(well, size):
                if self._are_linked(some) and self._may_lead(state, some):
                    return some
        return ()

    def _min_isr(self, topic: str, index: int, well: list[int]) -> int:
        found = [self._world.hosts[each - 1].partition(topic, index) for each in well]
        return max((each.config.min_insync_replicas for each in found if each is not None), default=1)

    def _are_linked(self, some: tuple[int, ...]) -> bool:
        now = self._world.agenda.now
        return all(
            now - self._unlinked_at.get((min(pair), max(pair)), 0.0) > WELL_SECONDS for pair in combinations(some, 2)
        )

    def _may_lead(self, state: PartitionState, some: tuple[int, ...]) -> bool:
        eligible = [each for each in (*state.isr, *state.elr) if each in some and each not in state.damaged]
        if not eligible:
            return False
        if state.leader == NO_LEADER or state.leader in some:
            return True
        host = self._world.hosts[state.leader - 1]
        return self._is_gone(host) or self._is_full(host)
