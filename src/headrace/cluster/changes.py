"""Changes of topics as calculations: an image in, a list of commits out, or `Refused`.

    create   partitions first, the topic's key in the last commit: the topic exists from there on
    delete   the topic's key in the first commit: the topic is gone from there on, then its partitions

So a broker that dies half-way leaves orphan partitions and nothing else; `sweep_orphans` removes them. The last commit
of a long creation expects its first partition as its first commit wrote it, and writes it again; a sweep expects every
partition as it saw it. So of a creation and a sweep that met, only one can finish.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from headrace.base.errors import Refused
from headrace.base.settings import SettingError, UnknownSetting
from headrace.cluster.assignment import assign_new, place_new
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import INTERNAL_TOPICS, PartitionState, Topic
from headrace.cluster.image import Image
from headrace.cluster.records import TopicRecord, encode, partition_key, topic_key
from headrace.cluster.store import ABSENT, FIRST, OPERATIONS_MAX, Commit
from headrace.cluster.topic_config import default_topic_config, validate_topic_overrides
from headrace.cluster.topic_names import check_no_clash, check_topic_name
from headrace.wire.codes import ErrorCode

_USE_DEFAULT: Final = -1
_NO_FENCE: Final[Mapping[str, int]] = {}
_Item = TypeVar("_Item")


class NewTopic(NamedTuple):
    name: str
    partitions: int = _USE_DEFAULT
    replication_factor: int = _USE_DEFAULT
    config: Mapping[str, str] = {}
    assignment: Mapping[int, Sequence[int]] | None = None


class Creation(NamedTuple):
    topic: Topic
    """The topic as it will be, for the reply."""
    commits: list[Commit]


def create_topic(
    image: Image, live: Collection[int], new: NewTopic, topic_id: bytes, defaults: BrokerConfig, turn: int = 0
) -> Creation:
    """The commits that create a topic.

    `topic_id` is fresh and random; `live` are the brokers whose lease is. Topics that are made together have a `turn`
    each, so that they do not all begin with the same broker.
    """
    check_topic_name(new.name)
    if new.name in image.topics:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {new.name} already exists")
    check_no_clash(new.name, image.topics)
    partitions = _new_partitions(image, live, new, defaults, turn)
    check_topic_overrides(new.config, defaults)
    record = TopicRecord(topic_id, len(partitions), new.config)
    topic = Topic(new.name, topic_id, tuple(partitions), new.config, new.name in INTERNAL_TOPICS, 0)
    return Creation(topic, _commit_partitions(new.name, record, ABSENT, dict(enumerate(partitions))))


def _new_partitions(
    image: Image, live: Collection[int], new: NewTopic, defaults: BrokerConfig, turn: int
) -> list[PartitionState]:
    if new.assignment is not None:
        if (new.partitions, new.replication_factor) != (_USE_DEFAULT, _USE_DEFAULT):
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "partitions and replication factor must be -1 when replicas are assigned one by one",
            )
        if not new.assignment:
            raise Refused(ErrorCode.INVALID_PARTITIONS, "a topic has at least one partition")
        return assign_new(image, live, new.assignment)
    count = defaults.number("num.partitions") if new.partitions == _USE_DEFAULT else new.partitions
    factor = new.replication_factor
    if factor == _USE_DEFAULT:
        factor = defaults.number("default.replication.factor")
    if count < 1:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"a topic has at least one partition, not {count}")
    if factor < 1:
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, f"a partition has at least one replica, not {factor}")
    return place_new(image, live, count, factor, start=len(image.topics) + turn)


def check_topic_overrides(config: Mapping[str, str], defaults: BrokerConfig) -> None:
    try:
        validate_topic_overrides(config, default_topic_config(defaults))
    except (SettingError, UnknownSetting) as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error


def create_partitions(
    image: Image,
    live: Collection[int],
    name: str,
    count: int,
    assignments: Sequence[Sequence[int]] | None = None,
) -> list[Commit]:
    """The commits that bring the topic to `count` partitions; `assignments` are the replicas of the new ones."""
    topic = known_topic(image, name)
    have = len(topic.partitions)
    if count <= have:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"topic {name} has {have} partitions already, {count} is not more")
    if assignments is None:
        added = place_new(image, live, count - have, topic.replication_factor, start=len(image.topics) + have)
    else:
        added = _assign_added(image, live, topic, count, assignments)
    record = TopicRecord(topic.id, count, topic.config)
    return _commit_partitions(name, record, topic.revision, dict(enumerate(added, start=have)))


def _assign_added(
    image: Image, live: Collection[int], topic: Topic, count: int, assignments: Sequence[Sequence[int]]
) -> list[PartitionState]:
    have = len(topic.partitions)
    if len(assignments) != count - have:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{count - have} partitions are new, but {len(assignments)} are assigned",
        )
    added = assign_new(image, live, dict(enumerate(assignments, start=have)), first=have)
    if len(added[0].replicas) != topic.replication_factor:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"the topic has {topic.replication_factor} replicas a partition, the assignment {len(added[0].replicas)}",
        )
    return added


def _commit_partitions(
    name: str, record: TopicRecord, topic_revision: int, partitions: Mapping[int, PartitionState]
) -> list[Commit]:
    topic = topic_key(name)
    puts = [(partition_key(record.id, index), encode(state)) for index, state in partitions.items()]
    # Each commit expects the topic as we saw it: a creation that lost the race for the name stops early. Two places are
    # left free for the additions of the last commit.
    commits = [Commit(dict(chunk), {topic: topic_revision}) for chunk in _chunks(puts, OPERATIONS_MAX - 2)]
    last = commits[-1]
    if len(commits) > 1:
        first_key, first_value = puts[0]
        last = Commit({**last.puts, first_key: first_value}, {**last.expect, first_key: FIRST})
    commits[-1] = Commit({**last.puts, topic: encode(record)}, last.expect)
    return commits


def delete_topic(image: Image, name: str) -> list[Commit]:
    topic = known_topic(image, name)
    keys = [topic_key(name), *_partition_keys(topic.id, range(len(topic.partitions)))]
    first, *rest = _deletions(keys)
    return [Commit(first.puts, {topic_key(name): topic.revision}), *rest]


def sweep_orphans(
    image: Image, topic_ids: Collection[bytes] | None = None, fence: Mapping[str, int] = _NO_FENCE
) -> list[Commit]:
    """Removes partitions that no topic counts, the lowest first: that is the one a creation relies on.

    Takes those of `topic_ids`, or all; every commit also expects `fence`.
    """
    seen = [
        (partition_key(topic_id, index), left[index].revision)
        for topic_id, left in image.orphans.items()
        if topic_ids is None or topic_id in topic_ids
        for index in sorted(left)
    ]
    chunks = _chunks(seen, OPERATIONS_MAX - len(fence))
    return [Commit(dict.fromkeys(key for key, _ in chunk), {**fence, **dict(chunk)}) for chunk in chunks]


def known_topic(image: Image, name: str) -> Topic:
    topic = image.topics.get(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
    return topic


def _partition_keys(topic_id: bytes, indexes: Iterable[int]) -> list[str]:
    return [partition_key(topic_id, index) for index in indexes]


def _deletions(keys: Sequence[str]) -> list[Commit]:
    return [Commit(dict.fromkeys(chunk), {}) for chunk in _chunks(keys, OPERATIONS_MAX)]


def _chunks(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
