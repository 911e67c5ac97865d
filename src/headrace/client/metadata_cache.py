"""A client's memory of a cluster: its brokers, the leader of a partition until that proves wrong, a topic for a while.

No I/O and no clock: the time comes with each question.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headrace.base.ids import TopicPartition
from headrace.client.cluster_metadata import ClusterMetadata, TopicMetadata
from headrace.client.peer import Address

# How long more partitions, or none, may take to be noticed.
TOPIC_KNOWN_SECONDS = 30.0


class Leader(NamedTuple):
    address: Address
    epoch: int


class MetadataCache:
    def __init__(self) -> None:
        self.brokers: dict[int, Address] = {}
        self._leaders: dict[TopicPartition, Leader] = {}
        self._topics: dict[str, tuple[TopicMetadata, float]] = {}

    def remember(self, seen: ClusterMetadata, now: float) -> None:
        self.brokers = {id: (broker.host, broker.port) for id, broker in seen.brokers.items()}
        for topic in seen.topics.values():
            self.forget_topic(topic.name)
            if not topic.error_code:
                self._topics[topic.name] = topic, now + TOPIC_KNOWN_SECONDS
            for index, part in topic.partitions.items():
                if part.leader in self.brokers:
                    leader = Leader(self.brokers[part.leader], part.leader_epoch)
                    self._leaders[TopicPartition(topic.name, index)] = leader

    def leader(self, id: TopicPartition) -> Leader | None:
        return self._leaders.get(id)

    def forget_leaders(self, ids: Iterable[TopicPartition]) -> None:
        for id in ids:
            self._leaders.pop(id, None)

    def topic(self, name: str, now: float) -> TopicMetadata | None:
        topic, until = self._topics.get(name, (None, 0.0))
        return topic if now < until else None

    def forget_topic(self, name: str) -> None:
        self._topics.pop(name, None)
