"""Plans for moving data, to be shown before they are carried out: a layout in, moves out.

Replicas are spread over racks, then hosts, as new partitions are (`place`), and no plan makes that worse; then evenly,
per topic and over all, with as few copies as that takes; then preferred leaders, which cost no copy. The same layout
gives the same plan, and the plan for its result is empty. A partition with a replica on a broker that is not usable is
left alone by `plan_rebalance`: its move could not be finished.
"""

from collections.abc import Mapping, Sequence

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.cluster.entities import Broker
from headrace.cluster.even import Shares
from headrace.cluster.layout import Layout, Move, crowding, moves
from headrace.wire.codes import ErrorCode


def plan_rebalance(layout: Layout) -> list[Move]:
    board = _Board(layout)
    board.spread_out()
    board.shares.even_out()
    leaders = _Leaders(board.replicas)
    shares = Shares(layout.usable, leaders)
    for partition, replicas in board.replicas.items():
        if replicas[0] in layout.usable:
            shares.count(partition, replicas[0], board.is_movable(partition))
    shares.even_out()
    return moves(layout, board.replicas)


def plan_drain(layout: Layout, broker_id: int) -> list[Move]:
    """Moves everything off a broker, alive or dead, onto the others."""
    board = _Board(layout._replace(usable=layout.usable - {broker_id}))
    for partition in [each for each, replicas in board.replicas.items() if broker_id in replicas]:
        board.substitute(partition, broker_id)
    return moves(layout, board.replicas)


def plan_replace(layout: Layout, old: int, new: int) -> list[Move]:
    """Moves the replicas of one broker to another; to the best other one where that has a replica already."""
    if new not in layout.usable:
        raise Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {new} is not alive; start it first")
    board = _Board(layout._replace(usable=layout.usable - {old}))
    for partition, replicas in board.replicas.items():
        if old in replicas:
            if new in replicas:
                board.substitute(partition, old)
            else:
                board.put(partition, old, new)
    return moves(layout, board.replicas)


def plan_replication_factor(layout: Layout, topic: str, factor: int) -> list[Move]:
    board = _Board(layout)
    partitions = [each for each in board.replicas if each.topic == topic]
    if not partitions:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    if not 1 <= factor <= len(layout.usable):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"replication factor {factor} needs as many brokers; {len(layout.usable)} are alive",
        )
    for partition in partitions:
        while len(board.replicas[partition]) < factor:
            board.grow(partition)
        while len(board.replicas[partition]) > factor:
            board.shrink(partition)
    return moves(layout, board.replicas)


class _Board:
    """A layout in the making, with the number of replicas on each broker."""

    def __init__(self, layout: Layout) -> None:
        self.replicas = {partition: list(replicas) for partition, replicas in layout.partitions.items()}
        self.shares = Shares(layout.usable, self)
        self._usable = layout.usable
        self._brokers: Mapping[int, Broker] = layout.brokers
        self._crowding: dict[tuple[int, ...], tuple[int, int]] = {}
        for partition, replicas in self.replicas.items():
            movable = self.is_movable(partition)
            for replica in replicas:
                if replica in self._usable:
                    self.shares.count(partition, replica, movable)

    def is_movable(self, partition: TopicPartition) -> bool:
        return self._usable.issuperset(self.replicas[partition])

    def may_move(self, partition: TopicPartition, giver: int, taker: int) -> bool:
        replicas = self.replicas[partition]
        if taker in replicas:
            return False
        return self.crowding(_swapped(replicas, giver, taker)) <= self.crowding(replicas)

    def move(self, partition: TopicPartition, giver: int, taker: int) -> None:
        self.replicas[partition] = _swapped(self.replicas[partition], giver, taker)

    def crowding(self, replicas: Sequence[int]) -> tuple[int, int]:
        key = tuple(sorted(replicas))
        if key not in self._crowding:
            self._crowding[key] = crowding(key, self._brokers)
        return self._crowding[key]

    def spread_out(self) -> None:
        """Moves replicas that share a rack or host though they need not. A set of brokers found good is not looked at
        again."""
        good: set[frozenset[int]] = set()
        for partition in [each for each in self.replicas if self.is_movable(each)]:
            while frozenset(self.replicas[partition]) not in good:
                if not self._spread(partition):
                    good.add(frozenset(self.replicas[partition]))

    def _spread(self, partition: TopicPartition) -> bool:
        replicas = self.replicas[partition]
        swaps = [(giver, taker) for giver in replicas for taker in self._candidates(partition)]
        best = min(swaps, key=lambda swap: self._cost(partition, _swapped(replicas, *swap), swap[1]), default=None)
        if best is None or self.crowding(_swapped(replicas, *best)) >= self.crowding(replicas):
            return False
        self.shares.move(partition, *best)
        return True

    def _candidates(self, partition: TopicPartition) -> list[int]:
        return sorted(self._usable.difference(self.replicas[partition]))

    def _cost(
        self, partition: TopicPartition, after: Sequence[int], taker: int
    ) -> tuple[tuple[int, int], int, int, int]:
        shares = self.shares
        return self.crowding(after), shares.by_topic[partition.topic][taker], shares.total[taker], taker

    def substitute(self, partition: TopicPartition, broker_id: int) -> None:
        """Puts the best other broker in the place of this one."""
        replicas = self.replicas[partition]
        candidates = self._candidates(partition)
        if not candidates:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"{partition} has {len(replicas)} replicas, and no broker but {broker_id} is alive for the last of them; "
                f"start another, or lower the replication factor",
            )
        taker = min(candidates, key=lambda each: self._cost(partition, _swapped(replicas, broker_id, each), each))
        self.put(partition, broker_id, taker)

    def put(self, partition: TopicPartition, broker_id: int, taker: int) -> None:
        self.replicas[partition] = _swapped(self.replicas[partition], broker_id, taker)
        self.shares.count(partition, taker)

    def grow(self, partition: TopicPartition) -> None:
        replicas = self.replicas[partition]
        candidates = self._candidates(partition)
        assert candidates, f"nobody to grow {partition} to, of {sorted(self._usable)}"
        taker = min(candidates, key=lambda each: self._cost(partition, [*replicas, each], each))
        replicas.append(taker)
        self.shares.count(partition, taker)

    def shrink(self, partition: TopicPartition) -> None:
        """Drops a replica: an unusable one before a crowded one, before that of the fullest broker; the first stays."""
        replicas = self.replicas[partition]
        goes = min(
            replicas[1:] if replicas[0] in self._usable else replicas,
            key=lambda each: (
                each in self._usable,
                self.crowding([other for other in replicas if other != each]),
                -self.shares.total[each],
            ),
        )
        replicas.remove(goes)
        self.shares.total[goes] -= 1


class _Leaders:
    """Leaderships, which move by order alone: the preferred leader is the first replica."""

    def __init__(self, replicas: dict[TopicPartition, list[int]]) -> None:
        self._replicas = replicas

    def may_move(self, partition: TopicPartition, giver: int, taker: int) -> bool:
        return taker in self._replicas[partition]

    def move(self, partition: TopicPartition, giver: int, taker: int) -> None:
        rest = [replica for replica in self._replicas[partition] if replica != taker]
        self._replicas[partition] = [taker, *rest]


def _swapped(replicas: Sequence[int], giver: int, taker: int) -> list[int]:
    return [taker if replica == giver else replica for replica in replicas]
