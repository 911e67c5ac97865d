"""Plans that move replicas between brokers, with as few moves as the purpose allows: drain, replace, even out.

A plan maps a partition to its replicas afterwards, preferred leader first; partitions that stay as they are, are not in
it. Replicas go where the partition has none in the same rack, then host, then to whoever holds least. The same input
gives the same plan, so it can be shown before it is made. Nothing here moves anything: `reassign` does.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.cluster.entities import Broker
from headrace.cluster.place import even_leaders

Replicas = tuple[int, ...]
Assignment = Mapping[TopicPartition, Replicas]
Plan = dict[TopicPartition, Replicas]


def drain(assignment: Assignment, brokers: Iterable[Broker], leaving: Collection[int]) -> Plan:
    """Nothing is left on these brokers. `brokers` are those that may hold replicas; the leaving ones may be among them."""
    desk = _Desk(assignment, [broker for broker in brokers if broker.id not in leaving])
    for id, replicas in assignment.items():
        for replica in replicas:
            if replica in leaving:
                desk.replace(id, replica, desk.best_for(id, replica))
    return desk.plan()


def replace(assignment: Assignment, brokers: Iterable[Broker], old: int, new: int) -> Plan:
    """What was on the old broker is on the new one. Where that has a replica already, another broker takes it."""
    staying = [broker for broker in brokers if broker.id != old]
    if new not in {broker.id for broker in staying}:
        raise UserError(f"broker {new} is not alive", "Start it first; it joins by itself.")
    desk = _Desk(assignment, staying)
    for id, replicas in assignment.items():
        if old in replicas:
            desk.replace(id, old, desk.best_for(id, old) if new in replicas else new)
    return desk.plan()


def rebalance(assignment: Assignment, brokers: Iterable[Broker], onto: Collection[int] = ()) -> Plan:
    """Every broker holds as many replicas as any other, or one more, as far as racks allow, and leads its share.

    With `onto`, replicas only move on to these brokers: those that just joined.
    """
    desk = _Desk(assignment, list(brokers))
    takers = set(onto) or desk.ids
    moved = 1
    while moved:
        moved = sum(desk.relieve(id, replica, takers) for id in assignment for replica in desk.now[id])
    desk.even_leaders()
    return desk.plan()


class _Desk:
    """The assignment in the making, and how many replicas each broker holds by it."""

    def __init__(self, assignment: Assignment, brokers: Sequence[Broker]) -> None:
        self.before = assignment
        self.now: dict[TopicPartition, Replicas] = dict(assignment)
        self.ids = {broker.id for broker in brokers}
        self._brokers = {broker.id: broker for broker in brokers}
        self._load = Counter(dict.fromkeys(sorted(self.ids), 0))
        self._led = Counter(dict.fromkeys(sorted(self.ids), 0))
        for replicas in assignment.values():
            self._load.update(replicas)
            self._led.update(replicas[:1])

    def plan(self) -> Plan:
        return {id: replicas for id, replicas in self.now.items() if replicas != self.before[id]}

    def replace(self, id: TopicPartition, old: int, new: int) -> None:
        was_first = self.now[id][0] == old
        self.now[id] = tuple(new if each == old else each for each in self.now[id])
        self._load[old] -= 1
        self._load[new] += 1
        if was_first:
            self._led[old] -= 1
            self._led[new] += 1

    def best_for(self, id: TopicPartition, instead_of: int) -> int:
        """A broker for this replica; one that leads little, if it is the preferred leader's."""
        replicas = self.now[id]
        others = [each for each in replicas if each != instead_of]
        free = [each for each in self._brokers if each not in replicas]
        if not free:
            raise UserError(
                f"{id} has {len(replicas)} replicas, and no other broker is left to take the one on broker {instead_of}",
                "Start another broker first, or lower the topic's replication factor.",
            )
        weigh = self._led if replicas[0] == instead_of else self._load
        return min(free, key=lambda each: (self._crowding(each, others), weigh[each], self._load[each], each))

    def relieve(self, id: TopicPartition, replica: int, takers: Collection[int]) -> bool:
        """Moves this replica out of a crowded rack or host, or to a broker with at least two fewer; whether it did.

        Either crowding gets less, or it stays and the load evens out: so this comes to an end.
        """
        if replica not in self._brokers:
            return False
        replicas = self.now[id]
        others = [each for each in replicas if each != replica]
        crowding = self._crowding(replica, others)
        load = self._load[replica]
        free = [each for each in takers if each in self._brokers and each not in replicas]
        if not free:
            return False
        taker = min(free, key=lambda each: (self._crowding(each, others), self._load[each], each))
        if self._crowding(taker, others) < crowding or (
            self._crowding(taker, others) == crowding and self._load[taker] <= load - 2
        ):
            self.replace(id, replica, taker)
            return True
        return False

    def _crowding(self, broker_id: int, others: Sequence[int]) -> tuple[int, int]:
        """How many other replicas are in the same rack, and on the same host. A broker that is gone stands alone."""
        broker = self._brokers.get(broker_id)
        if broker is None:
            return 0, 0
        near = [self._brokers[each] for each in others if each in self._brokers]
        return (
            sum(each.rack == broker.rack for each in near) if broker.rack else 0,
            sum(each.host == broker.host for each in near),
        )

    def even_leaders(self) -> None:
        """Another replica first, where that spreads the leaders; it costs no copying."""
        ids = [id for id, replicas in self.now.items() if self.ids.issuperset(replicas)]
        chosen = [self.now[id] for id in ids]
        leaders = even_leaders(chosen, [replicas[0] for replicas in chosen], sorted(self.ids))
        for id, leader in zip(ids, leaders, strict=True):
            self.now[id] = (leader, *(each for each in self.now[id] if each != leader))
