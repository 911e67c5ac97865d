"""The whole metadata of the cluster at one revision, immutable: every decision is a calculation over an image.

A change makes a new image that shares every untouched topic with the old one, so `is` tells what changed; one that is
loaded anew is made to share them (`shared`). A partition key whose topic does not exist, or does not count it, is an
orphan: of a creation or a deletion that is not finished. Orphans are kept aside, unseen by look-ups, until their topic
counts them or a sweep removes them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from headrace.base.errors import UserError
from headrace.cluster.entities import (
    INTERNAL_TOPICS,
    MISSING_PARTITION,
    Acl,
    Broker,
    BrokerOverrides,
    Cluster,
    ControllerClaim,
    Features,
    PartitionState,
    ProducerIds,
    Secret,
    Token,
    Topic,
    User,
)
from headrace.cluster.records import (
    EVERY_BROKER,
    Record,
    TopicRecord,
    decode,
    parse_broker_key,
    parse_partition_key,
    parse_user_key,
)
from headrace.cluster.store import Change

_NO_OVERRIDES: Mapping[str, str] = {}


class Image(NamedTuple):
    revision: int = 0
    cluster: Cluster | None = None
    controller: ControllerClaim | None = None
    brokers: Mapping[int, Broker] = {}
    topics: Mapping[str, Topic] = {}
    topic_names: Mapping[bytes, str] = {}
    broker_overrides: Mapping[str, BrokerOverrides] = {}
    """Overrides by broker id as text, and `default` for all."""
    producer_ids: ProducerIds = ProducerIds()
    features: Features = Features({})
    orphans: Mapping[bytes, Mapping[int, PartitionState]] = {}
    users: Mapping[str, User] = {}
    secrets: Mapping[str, Secret] = {}
    acls: Mapping[str, Acl] = {}
    """Rules by the digest in their key."""
    tokens: Mapping[str, Token] = {}

    def apply(self, changes: Iterable[Change], revision: int) -> "Image":
        assert revision >= self.revision, (revision, self.revision)
        draft = _Draft(self)
        for key, value, modified in changes:
            draft.change(key, None if value is None else decode(key, value, modified))
        return draft.finish(revision)

    @property
    def cluster_id(self) -> str:
        if self.cluster is None:
            raise UserError("the metadata store holds no cluster yet", "Start a broker on it once.")
        return self.cluster.id

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        name = self.topic_names.get(topic_id)
        return None if name is None else self.topics[name]

    def partition(self, topic: str, index: int) -> PartitionState | None:
        found = self.topics.get(topic)
        if found is None or not 0 <= index < len(found.partitions):
            return None
        return found.partitions[index]

    def overrides_of(self, broker_id: int | None) -> Mapping[str, str]:
        """The dynamic settings of one broker, or of all."""
        found = self.broker_overrides.get(EVERY_BROKER if broker_id is None else str(broker_id))
        return _NO_OVERRIDES if found is None else found.config


def changed_topics(old: Image, new: Image) -> Iterator[tuple[Topic | None, Topic | None]]:
    """The topics that differ, before and after. A topic made anew under its name comes twice."""
    if old.topics is new.topics:
        return
    if old.topic_names is new.topic_names:
        # No topic came or went, so both have the same ones in the same order. For ten thousand that is ten times as fast.
        pairs = zip(old.topics.values(), new.topics.values(), strict=True)
        yield from ((before, after) for before, after in pairs if before is not after)
        return
    for name, before in old.topics.items():
        after = new.topics.get(name)
        if after is None or after.id != before.id:
            yield before, None
    for name, after in new.topics.items():
        known = old.topics.get(name)
        if known is not after:
            yield (known if known is not None and known.id == after.id else None), after


def shared(topic: Topic, known: Topic | None) -> Topic:
    """`topic`, with each partition that is as in `known` the very object of `known`; `known` itself, if all of it is."""
    if known is None or known.id != topic.id:
        return topic
    if known == topic:
        return known
    pairs = zip(topic.partitions, known.partitions, strict=False)
    partitions = [before if before == after else after for after, before in pairs]
    return topic._replace(partitions=(*partitions, *topic.partitions[len(partitions) :]))


class _Draft:
    """An image in the making. Collects first and builds each touched topic once, however many changes touched it."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.replaced: dict[str, object] = {}
        self.topic_records: dict[str, TopicRecord | None] = {}
        self.partitions: dict[bytes, dict[int, PartitionState]] = {}

    def change(self, key: str, record: Record | None) -> None:
        match key.partition("/")[0]:
            case "partitions":
                self._change_partition(key, record)
            case "topics":
                self._change_topic(key.removeprefix("topics/"), record)
            case "brokers":
                self._change_one("brokers", parse_broker_key(key), record)
            case "config" if key.startswith("config/brokers/"):
                self._change_one("broker_overrides", key.removeprefix("config/brokers/"), record)
            case "acls":
                self._change_one("acls", key.removeprefix("acls/"), record)
            case "cluster" | "controller":
                self.replaced[key] = record
            case "producer_ids":
                self.replaced["producer_ids"] = record or ProducerIds()
            case "features":
                self.replaced["features"] = record or Features({})
            case "users":
                self._change_one("users", parse_user_key(key), record)
            case "secrets":
                self._change_one("secrets", key.removeprefix("secrets/"), record)
            case "tokens":
                self._change_one("tokens", key.removeprefix("tokens/"), record)

    def _change_one(self, field: str, name: object, record: Record | None) -> None:
        if field not in self.replaced:
            self.replaced[field] = dict(getattr(self.image, field))
        mapping = self.replaced[field]
        assert isinstance(mapping, dict)
        if record is None:
            mapping.pop(name, None)
        else:
            mapping[name] = record

    def _change_partition(self, key: str, record: Record | None) -> None:
        topic_id, index = parse_partition_key(key)
        known = self._partitions_of(topic_id)
        if record is None:
            known.pop(index, None)
        else:
            assert isinstance(record, PartitionState)
            known[index] = record

    def _change_topic(self, name: str, record: Record | None) -> None:
        assert record is None or isinstance(record, TopicRecord)
        before = self.image.topics.get(name)
        if before is not None:
            self._partitions_of(before.id)
        if record is not None:
            self._partitions_of(record.id)
        self.topic_records[name] = record

    def _partitions_of(self, topic_id: bytes) -> dict[int, PartitionState]:
        known = self.partitions.get(topic_id)
        if known is None:
            topic = self.image.topic_by_id(topic_id)
            known = dict(enumerate(topic.partitions)) if topic is not None else {}
            known.update(self.image.orphans.get(topic_id, {}))
            self.partitions[topic_id] = known
        return known

    def finish(self, revision: int) -> Image:
        if self.partitions:
            self._build_topics()
        return self.image._replace(revision=revision, **self.replaced)  # type: ignore[arg-type]

    def _build_topics(self) -> None:
        topics, orphans = dict(self.image.topics), dict(self.image.orphans)
        names = self._build_names(topics)
        for topic_id, known in self.partitions.items():
            name = names.get(topic_id)
            if name is not None:
                topics[name] = _build_topic(name, self._record_of(name), known)
            left = {index: state for index, state in known.items() if state is not MISSING_PARTITION}
            orphans.pop(topic_id, None)
            if left:
                orphans[topic_id] = left
        self.replaced.update(topics=topics, topic_names=names, orphans=orphans)

    def _build_names(self, topics: dict[str, Topic]) -> Mapping[bytes, str]:
        if not self.topic_records:
            return self.image.topic_names
        names = dict(self.image.topic_names)
        for name, record in self.topic_records.items():
            before = topics.get(name)
            if before is not None:
                names.pop(before.id, None)
            if record is None:
                topics.pop(name, None)
            else:
                names[record.id] = name
        return names

    def _record_of(self, name: str) -> TopicRecord:
        record = self.topic_records.get(name)
        if record is not None:
            return record
        topic = self.image.topics[name]
        return TopicRecord(topic.id, len(topic.partitions), topic.config, topic.revision)


def _build_topic(name: str, record: TopicRecord, known: dict[int, PartitionState]) -> Topic:
    """Takes the partitions that the topic counts out of `known`; the rest there are orphans."""
    partitions = tuple(known.pop(index, MISSING_PARTITION) for index in range(record.partition_count))
    return Topic(name, record.id, partitions, record.config, name in INTERNAL_TOPICS, record.revision)
