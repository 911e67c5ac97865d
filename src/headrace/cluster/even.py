"""Evening out: moves shares of partitions between brokers until none has two more than another that could take one.

A share is a replica or a leadership. First within each topic, so that a busy topic is on all brokers, then over all of
them, by moves that leave each topic as even as it is. Where a share cannot go straight from the fullest to the emptiest
(racks forbid it, or the taker has no replica) it goes along a chain over others. Every move makes the distribution more
even, so the end is reached, and evening out again finds nothing to do.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import Protocol

from headrace.base.ids import TopicPartition

_Step = tuple[TopicPartition, int, int]
_Place = tuple[int, str | None]
"""Where a chain has come to: a broker, and the topic of which it has one too many until it passes one on."""


class EvenRules(Protocol):
    def may_move(self, partition: TopicPartition, giver: int, taker: int) -> bool: ...

    def move(self, partition: TopicPartition, giver: int, taker: int) -> None: ...


class Shares:
    def __init__(self, brokers: Iterable[int], rules: EvenRules) -> None:
        self._rules = rules
        self.brokers = sorted(brokers)
        self.total = Counter(dict.fromkeys(self.brokers, 0))
        self.by_topic: dict[str, Counter[int]] = defaultdict(lambda: Counter(dict.fromkeys(self.brokers, 0)))
        self._held: dict[int, dict[TopicPartition, None]] = {broker: {} for broker in self.brokers}
        self._held_of: dict[tuple[str, int], dict[TopicPartition, None]] = defaultdict(dict)

    def count(self, partition: TopicPartition, broker: int, movable: bool = True) -> None:
        self.total[broker] += 1
        self.by_topic[partition.topic][broker] += 1
        if movable:
            self._held[broker][partition] = None
            self._held_of[partition.topic, broker][partition] = None

    def move(self, partition: TopicPartition, giver: int, taker: int) -> None:
        self._rules.move(partition, giver, taker)
        for counts in (self.total, self.by_topic[partition.topic]):
            counts[giver] -= 1
            counts[taker] += 1
        for held in (self._held[giver], self._held_of[partition.topic, giver]):
            del held[partition]
        for held in (self._held[taker], self._held_of[partition.topic, taker]):
            held[partition] = None

    def even_out(self) -> None:
        if self.brokers:
            while any([*map(self._even_out, list(self.by_topic)), self._even_out(None)]):
                pass

    def _even_out(self, topic: str | None) -> bool:
        """Evens out the shares of one topic, or of all; returns whether anything moved."""
        moved = self._move_directly(topic)
        while self._move_along_chain(topic):
            moved = True
        return moved

    def _counts(self, topic: str | None) -> Counter[int]:
        return self.total if topic is None else self.by_topic[topic]

    def _may_move(self, partition: TopicPartition, giver: int, taker: int, topic: str | None) -> bool:
        counts = self.by_topic[partition.topic]
        return (topic is not None or counts[giver] > counts[taker]) and self._rules.may_move(partition, giver, taker)

    def _held_by(self, broker: int, topic: str | None) -> list[TopicPartition]:
        return list(self._held[broker] if topic is None else self._held_of[topic, broker])

    def _is_even(self, counts: Counter[int]) -> bool:
        values = [counts[broker] for broker in self.brokers]
        return max(values) - min(values) <= 1

    def _move_directly(self, topic: str | None) -> bool:
        """Goes most of the way in one pass. Nobody gives below the mean or takes above it: that would be moved again."""
        counts, moved = self._counts(topic), False
        if self._is_even(counts):
            return False
        mean, rest = divmod(sum(counts[broker] for broker in self.brokers), len(self.brokers))
        fullest_first = sorted(self.brokers, key=lambda broker: (-counts[broker], -self.total[broker], broker))
        for giver in fullest_first:
            for taker in reversed(fullest_first):
                for partition in self._held_by(giver, topic) if counts[giver] > counts[taker] + 1 else ():
                    if counts[giver] <= max(mean, counts[taker] + 1) or counts[taker] >= mean + bool(rest):
                        break
                    if self._may_move(partition, giver, taker, topic):
                        self.move(partition, giver, taker)
                        moved = True
        return moved

    def _move_along_chain(self, topic: str | None) -> bool:
        counts = self._counts(topic)
        if self._is_even(counts):
            return False
        most, least = max(counts[each] for each in self.brokers), min(counts[each] for each in self.brokers)
        # Both ends: the emptiest may be within reach of some full broker but not of the fullest, and the other way round.
        for givers, takers in (
            ([each for each in self.brokers if counts[each] > least + 1], least),
            ([each for each in self.brokers if counts[each] == most], most - 2),
        ):
            chain = self._find_chain(givers, {each for each in self.brokers if counts[each] <= takers}, topic)
            for step in chain:
                self.move(*step)
            if chain:
                return True
        return False

    def _find_chain(self, givers: list[int], takers: set[int], topic: str | None) -> list[_Step]:
        """The shortest chain, by breadth. Over all topics, a broker may pass on a share of the topic it took one of."""
        chains: dict[_Place, list[_Step]] = {(broker, None): [] for broker in givers}
        waiting = deque(chains)
        while waiting:
            place = waiting.popleft()
            chain = chains[place]
            if place[1] is None and place[0] in takers:
                return chain
            used = {partition for partition, _, _ in chain}
            for partition in self._held_by(place[0], topic or place[1]):
                # A partition moves once in a chain: its second move was judged without the first.
                for reached in self._reach(partition, place, topic) if partition not in used else ():
                    if reached not in chains:
                        chains[reached] = [*chain, (partition, place[0], reached[0])]
                        waiting.append(reached)
        return []

    def _reach(self, partition: TopicPartition, place: _Place, topic: str | None) -> list[_Place]:
        giver, passing_on = place
        counts = self.by_topic[partition.topic]
        most = max(counts[each] for each in self.brokers)
        if topic is None and passing_on is None and counts[giver] < most:
            return []
        reached: list[_Place] = []
        for taker in self.brokers:
            if taker != giver and self._rules.may_move(partition, giver, taker):
                if topic is None:
                    reached.append((taker, partition.topic))
                # The topic stays as even as it is when who gave first had the most of it and who keeps it had less.
                if topic is not None or counts[taker] < most:
                    reached.append((taker, None))
        return reached
