"""The step from one image to the next, for the partitions of this broker: told, closed, or wanted. Waits for no disk."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from headrace.base.clock import Clock
from headrace.base.ids import TopicPartition
from headrace.broker.hosting.openings import Openings
from headrace.broker.hosting.topic_settings import TopicSettings, tell
from headrace.broker.partitions import Partitions
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Topic
from headrace.cluster.image import Image, changed_topics
from headrace.partition.partition import Partition

UPDATE_PER_TURN = 1000


class Reconciliation:
    def __init__(
        self,
        partitions: Partitions,
        openings: Openings,
        settings: TopicSettings,
        discard: Callable[[Partition], None],
        clock: Clock,
    ) -> None:
        self._partitions = partitions
        self._openings = openings
        self._settings = settings
        self._discard = discard
        self._clock = clock

    async def reconcile(self, image: Image, config: BrokerConfig) -> list[Partition]:
        """Takes in a new image, and returns the partitions that are gone or in another state. Waits for no disk.

        Only topics that changed are looked at, and those that could not be opened; all of them when defaults change.
        """
        before, self._partitions.image = self._partitions.image, image
        names = dict.fromkeys(self._changed_names(before, image))
        if self._settings.refresh(config):
            names |= dict.fromkeys(image.topics)
        changed = self._close_gone(before, image, names)
        looked_at = 0
        for topic in filter(None, map(image.topics.get, names)):
            changed += self._update_all(topic)
            looked_at += len(topic.partitions)
            if looked_at >= UPDATE_PER_TURN:
                looked_at = 0
                await asyncio.sleep(0)
        return changed

    def _changed_names(self, before: Image, image: Image) -> Iterator[str]:
        for old, new in changed_topics(before, image):
            topic = new if new is not None else old
            assert topic is not None
            yield topic.name
        for name, _ in self._partitions.left_over:
            yield name

    def _update_all(self, topic: Topic) -> Iterator[Partition]:
        """Tells the partitions of one topic what is new, and notes those that are still to be opened."""
        settings = self._settings.look(topic)
        for index, state in enumerate(topic.partitions):
            if self._partitions.is_ours(state):
                partition = self._partitions.find(topic.name, index)
                if partition is None:
                    self._openings.want(TopicPartition(topic.name, index))
                elif tell(partition, state, settings, self._clock.now()):
                    yield partition

    def _close_gone(self, before: Image, image: Image, names: Iterable[str]) -> list[Partition]:
        gone = []
        for name in names:
            topic = image.topics.get(name)
            if topic is None:
                self._settings.forget(name)
            for partition in self._hosted_of(name, before, image):
                if topic is None or topic.id != partition.topic_id or _is_moved_away(topic, partition):
                    self._partitions.remove(partition)
                    partition.end()
                    self._discard(partition)
                    gone.append(partition)
        left_over = self._partitions.left_over
        for key in [key for key in left_over if not self._partitions.is_ours(image.partition(*key))]:
            del left_over[key]
        return gone

    def _hosted_of(self, name: str, *images: Image) -> list[Partition]:
        count = max(len(image.topics[name].partitions) if name in image.topics else 0 for image in images)
        found = (self._partitions.find(name, index) for index in range(count))
        return [partition for partition in found if partition is not None]


def _is_moved_away(topic: Topic, partition: Partition) -> bool:
    """Whether its replicas are on other brokers now. A state without any replica is a store that lost a key, not a move."""
    replicas = topic.partitions[partition.id.partition].replicas
    return bool(replicas) and partition.broker_id not in replicas
