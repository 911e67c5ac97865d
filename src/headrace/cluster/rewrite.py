"""Changes of partitions on their way into commits: each is compared with the revision that it was decided on.

The commits of one list depend on nothing but their own partitions, so they may be made in any order and at the same
time, and one that conflicts says nothing about the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.elect import check_sound
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image
from headrace.cluster.records import encode, partition_key
from headrace.cluster.store import OPERATIONS_MAX, Commit
from headrace.cluster.topic_config import TopicConfig, default_topic_config, topic_config

NO_FENCE: Final[Mapping[str, int]] = {}


class Rewrite(NamedTuple):
    topic: Topic
    partition: int
    after: PartitionState


def commit_rewrites(rewrites: Sequence[Rewrite], fence: Mapping[str, int] = NO_FENCE) -> list[Commit]:
    """The commits of these changes. Each also expects `fence`, such as that its author is still the controller."""
    size = OPERATIONS_MAX - len(fence)
    return [_commit(rewrites[start : start + size], fence) for start in range(0, len(rewrites), size)]


def _commit(rewrites: Sequence[Rewrite], fence: Mapping[str, int]) -> Commit:
    puts: dict[str, bytes | None] = {}
    expect = dict(fence)
    for topic, index, after in rewrites:
        check_sound(after)
        key = partition_key(topic.id, index)
        puts[key] = encode(after)
        expect[key] = topic.partitions[index].revision
    return Commit(puts, expect)


def each_partition(image: Image) -> Iterator[tuple[Topic, int, PartitionState]]:
    """Yields the partitions that the store has."""
    for topic in image.topics.values():
        for index, state in enumerate(topic.partitions):
            if state.replicas:
                yield topic, index, state


def alive(image: Image, live: Mapping[int, int]) -> frozenset[int]:
    """The brokers whose lease is that of their registration: another epoch is a ghost, or one that is not back yet."""
    brokers = image.brokers
    return frozenset(each for each, epoch in live.items() if each in brokers and brokers[each].epoch == epoch)


def topic_configs(defaults: BrokerConfig) -> Callable[[Topic], TopicConfig]:
    """A function for the settings of a topic. The defaults are worked out at its first call: mostly there is none."""
    shared: list[TopicConfig] = []

    def config_of(topic: Topic) -> TopicConfig:
        if not shared:
            shared.append(default_topic_config(defaults))
        return topic_config(topic.config, shared[0]) if topic.config else shared[0]

    return config_of
