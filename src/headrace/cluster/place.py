"""The placement of new partitions: replicas spread over racks, then hosts, then brokers, evenly.

A partition's replicas are in as many racks as there are, and within a rack on as many hosts as there are. Where racks
are of one size, no broker has more than one replica and one leader more than another. The same brokers and start give
the same answer, so a plan can be shown before it is made. Brokers that are dead or full are the caller's to leave out.
"""

from collections import Counter, deque
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from headrace.cluster.entities import Broker


def place(brokers: Sequence[Broker], partitions: int, replication_factor: int, start: int = 0) -> list[tuple[int, ...]]:
    """The replicas of each partition, leader first. `start` turns the order, so that topics do not all begin alike."""
    assert 0 < replication_factor <= len(brokers), f"{replication_factor} replicas on {len(brokers)} brokers"
    cluster = _grow(brokers, start)
    chosen = [cluster.pick(replication_factor) for _ in range(partitions)]
    leaders = _lead_evenly(chosen, sorted(broker.id for broker in brokers))
    return [_leader_first(replicas, leader) for replicas, leader in zip(chosen, leaders, strict=True)]


def _leader_first(replicas: Sequence[int], leader: int) -> tuple[int, ...]:
    return (leader, *(replica for replica in replicas if replica != leader))


class _Node:
    """A node of the tree: the cluster, a rack, a host or a broker. `rank` is kept current, so choosing a child is one
    `min`."""

    __slots__ = ("broker_id", "children", "chosen", "load", "place", "rank", "siblings", "size", "start")

    def __init__(self, start: int, children: "Sequence[_Node]" = (), broker_id: int = -1) -> None:
        self.start = start
        self.children = children
        self.broker_id = broker_id
        self.size: int = sum(child.size for child in children) or 1
        self.load = self.chosen = 0
        self.set_place(0, 1)
        for place_among, child in enumerate(children):
            child.set_place(place_among, len(children))

    def set_place(self, place_among: int, siblings: int) -> None:
        self.place = place_among
        self.siblings = siblings
        self.rerank()

    def rerank(self) -> None:
        """Ranks nodes: used up ones last; then by replicas of this partition, load for its size, and a turn that varies."""
        self.rank = (self.chosen == self.size, self.chosen, self.load / self.size, self._turn())

    def _turn(self) -> int:
        if self.load == 0:
            return (self.place - self.start) % self.siblings
        # A fresh shuffle for each round: were the neighbours always the same, they would inherit all of a dead broker's
        # leaders alone.
        return _mix(self.start + 31 * self.load + 1009 * self.place)

    def pick(self, count: int) -> list[int]:
        paths = [self._descend() for _ in range(count)]
        for path in paths:
            for node in path:
                node.chosen = 0
                node.rerank()
        return [path[-1].broker_id for path in paths]

    def _descend(self) -> "list[_Node]":
        path = [self]
        while path[-1].children:
            path.append(min(path[-1].children, key=_RANK))
        for node in path:
            node.load += 1
            node.chosen += 1
            node.rerank()
        return path


_RANK: Final = attrgetter("rank")


def _mix(number: int) -> int:
    """A hash whose order looks random (a CRC's does not: it is linear, and pairs stay pairs)."""
    number = ((number ^ number >> 16) * 0x45D9F3B) & 0xFFFFFFFF
    number = ((number ^ number >> 16) * 0x45D9F3B) & 0xFFFFFFFF
    return number ^ number >> 16


def _grow(brokers: Sequence[Broker], start: int) -> _Node:
    ordered = sorted(brokers, key=lambda broker: (broker.rack or "", broker.host, broker.id))
    racks = []
    for _, in_rack in groupby(ordered, key=lambda broker: broker.rack or ""):
        hosts = []
        for _, on_host in groupby(in_rack, key=lambda broker: broker.host):
            hosts.append(_Node(start, [_Node(start, broker_id=broker.id) for broker in on_host]))
        racks.append(_Node(start, hosts))
    return _Node(start, racks)


def _lead_evenly(chosen: Sequence[Sequence[int]], brokers: Sequence[int]) -> list[int]:
    """A leader for each partition out of its replicas: greedily first, then moved along chains while that helps."""
    leads = Counter(dict.fromkeys(brokers, 0))
    leaders = []
    for replicas in chosen:
        leader = min(replicas, key=leads.__getitem__)
        leads[leader] += 1
        leaders.append(leader)
    while _even_out(chosen, leaders, leads):
        pass
    return leaders


def _even_out(chosen: Sequence[Sequence[int]], leaders: list[int], leads: Counter[int]) -> bool:
    """Moves one leadership to a broker with at least two fewer, over others if need be; returns whether it could."""
    most, least = max(leads.values()), min(leads.values())
    if most - least <= 1:
        return False
    # Both ends: the laziest may be within reach of some busy broker but not of the busiest, and the other way round.
    for givers, takers in (
        ([broker for broker in leads if leads[broker] > least + 1], least),
        ([broker for broker in leads if leads[broker] == most], most - 2),
    ):
        chain = _find_chain(chosen, leaders, givers, {broker for broker in leads if leads[broker] <= takers})
        if chain:
            giver, taker = leaders[chain[0][0]], chain[-1][1]
            leads[giver] -= 1
            leads[taker] += 1
            for partition, leader in chain:
                leaders[partition] = leader
            return True
    return False


def _find_chain(
    chosen: Sequence[Sequence[int]], leaders: Sequence[int], givers: Sequence[int], takers: set[int]
) -> list[tuple[int, int]]:
    """A chain of partitions and their new leaders: each leader takes from the one before, the last is in `takers`."""
    led: dict[int, list[int]] = {}
    for partition, leader in enumerate(leaders):
        led.setdefault(leader, []).append(partition)
    chains: dict[int, list[tuple[int, int]]] = {broker: [] for broker in givers}
    waiting = deque(givers)
    while waiting:
        broker = waiting.popleft()
        if broker in takers:
            return chains[broker]
        for partition in led.get(broker, ()):
            for replica in chosen[partition]:
                if replica not in chains:
                    chains[replica] = [*chains[broker], (partition, replica)]
                    waiting.append(replica)
    return []
