"""The uniform assignor for a group whose members want different topics.

Every member keeps the partitions it has and still wants; the rest goes, topics with few readers first, to the members
that have least; then partitions move from the fullest reader of a topic to its emptiest until no single move makes
shares more even. Each move lowers the sum of the squares of the shares, so it ends.
"""

from collections.abc import Mapping

from headrace.groups.partitions import Part, Parts


def assign_mixed(
    subscribed: Mapping[str, frozenset[bytes]], counts: Mapping[bytes, int], former: Mapping[str, Parts]
) -> dict[str, Parts]:
    shares = _Shares(subscribed, counts)
    shares.keep(former)
    shares.hand_out()
    while shares.even_out():
        pass
    return {member: frozenset(parts) for member, parts in shares.of_member.items()}


class _Shares:
    def __init__(self, subscribed: Mapping[str, frozenset[bytes]], counts: Mapping[bytes, int]) -> None:
        self.of_member: dict[str, set[Part]] = {member: set() for member in sorted(subscribed)}
        self._counts = counts
        self._readers = {topic: [each for each in self.of_member if topic in subscribed[each]] for topic in counts}
        self._owners: dict[bytes, dict[int, str]] = {topic: {} for topic in counts}
        # A topic that few can read gets its share before those others could read are in their way.
        self._topics = sorted((topic for topic in counts if self._readers[topic]), key=self._reader_count)

    def _reader_count(self, topic: bytes) -> tuple[int, bytes]:
        return len(self._readers[topic]), topic

    def _load(self, member: str) -> int:
        return len(self.of_member[member])

    def keep(self, former: Mapping[str, Parts]) -> None:
        readers = {topic: frozenset(members) for topic, members in self._readers.items()}
        for member in self.of_member:
            for topic, number in sorted(former.get(member, frozenset())):
                if number < self._counts.get(topic, 0) and member in readers[topic]:
                    self._give(topic, number, member)

    def _give(self, topic: bytes, number: int, member: str) -> None:
        owner = self._owners[topic].get(number)
        if owner is not None:
            self.of_member[owner].discard((topic, number))
        self._owners[topic][number] = member
        self.of_member[member].add((topic, number))

    def hand_out(self) -> None:
        for topic in self._topics:
            for number in range(self._counts[topic]):
                if number not in self._owners[topic]:
                    self._give(topic, number, min(self._readers[topic], key=self._load))

    def even_out(self) -> bool:
        """Evens out all topics once; returns whether anything moved."""
        moved = False
        for topic in self._topics:
            owned: dict[str, list[int]] = {}
            for number, owner in sorted(self._owners[topic].items()):
                owned.setdefault(owner, []).append(number)
            while owned:
                fullest, emptiest = max(owned, key=self._load), min(self._readers[topic], key=self._load)
                if self._load(fullest) - self._load(emptiest) < 2:
                    break
                number = owned[fullest].pop()
                if not owned[fullest]:
                    del owned[fullest]
                self._give(topic, number, emptiest)
                owned.setdefault(emptiest, []).append(number)
                moved = True
        return moved
