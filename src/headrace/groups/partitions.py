"""Sets of partitions as members of a consumer group own them: by topic id, so that a topic made anew is another one."""

from collections.abc import Iterable, Mapping

from headrace.wire.messages.groups_consumer import TopicPartitions

Part = tuple[bytes, int]
"""Topic id and partition."""

Parts = frozenset[Part]
NO_PARTS: Parts = frozenset()

Owned = Mapping[Part, int]
"""Partitions with the member epoch in which each was given: a commit of that epoch or a later one may touch it."""

NOTHING_OWNED: Owned = {}


def by_topic(parts: Iterable[Part]) -> dict[bytes, list[int]]:
    """The partitions of each topic in a fixed order: bytes sent and stored must not depend on the order of a set."""
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(parts):
        topics.setdefault(topic_id, []).append(partition)
    return topics


def from_wire(topics: Iterable[TopicPartitions]) -> Parts:
    return frozenset((topic.topic_id, partition) for topic in topics for partition in topic.partitions)


def to_wire(parts: Iterable[Part]) -> list[TopicPartitions]:
    return [TopicPartitions(topic_id, partitions) for topic_id, partitions in by_topic(parts).items()]
