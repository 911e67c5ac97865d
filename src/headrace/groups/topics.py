"""The cluster's topics as groups see them, and the members' subscriptions to them.

The shell hands the topics in (`Groups.on_topics`); a change of them makes another mapping, so `is` tells. Names that no
topic has yet are kept in subscriptions: the topic may come. An expression matches internal topics too, as Kafka's
brokers have it; consumers that match on their own side leave them out.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from hashlib import blake2b
from typing import Protocol

from headrace.groups.expression import compile_expression


class Topic(Protocol):
    @property
    def id(self) -> bytes: ...

    @property
    def partitions(self) -> Sized: ...


Sight = Callable[[str], bool]
"""Whether a principal may know of a topic."""


def all_in_sight(name: str) -> bool:
    """The sight of those whom no rules bind."""
    return True


class Topics:
    """The topics at one moment, under the rules of that moment."""

    __slots__ = ("by_name", "names")

    def __init__(self, by_name: Mapping[str, Topic], names: Mapping[bytes, str]) -> None:
        self.by_name = by_name
        self.names = names


NO_TOPICS = Topics({}, {})


class Matches:
    """The topics that an expression matches and that are in sight, kept up to date: only new names are matched."""

    __slots__ = ("_expression", "_looked_at", "_matching", "topics")

    def __init__(self, text: str) -> None:
        self._expression = compile_expression(text)
        self._looked_at: frozenset[str] = frozenset()
        self._matching: frozenset[str] = frozenset()
        self.topics: frozenset[str] = frozenset()

    def look(self, by_name: Mapping[str, Topic], sight: Sight = all_in_sight) -> None:
        fresh = by_name.keys() - self._looked_at
        found = {name for name in fresh if self._expression.fullmatch(name)}
        if fresh or len(by_name) != len(self._looked_at):
            self._looked_at = frozenset(by_name)
            self._matching = (self._matching | found) & by_name.keys()
        self.topics = self._matching if sight is all_in_sight else frozenset(filter(sight, self._matching))


def metadata_hash(subscribed: Iterable[str], by_name: Mapping[str, Topic]) -> int:
    """A hash over all facts of the subscribed topics that an assignment depends on. Never 0, which stands for unknown."""
    digest = blake2b(digest_size=8)
    for name in sorted(subscribed):
        topic = by_name.get(name)
        if topic is not None:
            digest.update(b"%b%d %b" % (topic.id, len(topic.partitions), name.encode()))
    return int.from_bytes(digest.digest(), "big", signed=True) or 1


def parts_of(subscribed: Collection[str], by_name: Mapping[str, Topic]) -> dict[bytes, int]:
    """The id and number of partitions of those topics that exist, in the order of their names."""
    found = (by_name[name] for name in sorted(subscribed) if name in by_name)
    return {topic.id: len(topic.partitions) for topic in found}
