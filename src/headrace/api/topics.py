"""Topics, their configs, and the lag of groups, asked of the cluster and answered when it has answered."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from headrace.api.checks import check_name, check_whole
from headrace.api.errors import ApiError, error_of
from headrace.api.options import made, near
from headrace.api.positions import Places
from headrace.api.process import OfThisProcess
from headrace.api.trouble import Trouble

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Partition:
    id: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: tuple[Partition, ...]
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lag:
    """How many messages a group has not committed, by topic and partition.

    Of all partitions that its members read, and of the topics in which it has committed; where it has committed nothing
    yet, all messages there are. What was deleted before the group read it does not count.
    """

    group: str
    partitions: Mapping[tuple[str, int], int]

    @property
    def total(self) -> int:
        return sum(self.partitions.values())


class Topics(OfThisProcess):
    def __init__(self, config: dict[str, Any]) -> None:
        self._trouble = Trouble()
        self._admin = made(AdminClient, config, self._trouble)
        super().__init__(self._admin)

    def create(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, object], exist_ok: bool
    ) -> None:
        check_topic(name)
        check_whole("partitions", partitions, -1)
        check_whole("replication_factor", replication_factor, -1)
        topic = NewTopic(name, partitions, replication_factor, config=_texts(config))
        try:
            self._result(self._admin.create_topics([topic])[name], f"creating topic {name}")
        except ApiError as failure:
            if not (exist_ok and failure.kafka and failure.kafka.code() == KafkaError.TOPIC_ALREADY_EXISTS):
                raise

    def delete(self, name: str) -> None:
        check_topic(name)
        self._result(self._admin.delete_topics([name])[name], f"deleting topic {name}")

    def names(self) -> list[str]:
        try:
            return sorted(self._admin.list_topics(timeout=SECONDS).topics)
        except KafkaException as failure:
            raise self._told(failure.args[0], "asking for topics") from None

    def describe(self, name: str) -> Topic:
        found = self._described(name)
        resource = ConfigResource(ResourceType.TOPIC, name)
        entries = self._result(self._admin.describe_configs([resource])[resource], f"describing topic {name}")
        partitions = tuple(
            Partition(each.id, each.leader.id if each.leader else -1, _ids(each.replicas), _ids(each.isr))
            for each in found.partitions
        )
        return Topic(name, partitions, {key: entry.value for key, entry in sorted(entries.items())})

    def alter(self, name: str, partitions: int | None, config: Mapping[str, object]) -> None:
        if partitions is not None:
            check_whole("partitions", partitions, 1)
        known = self.describe(name)
        for option in config:
            if option not in known.config:
                hint = near(option, list(known.config)) or "see client.describe_topic(name).config"
                raise ApiError(f"topics have no setting {option}", hint)
        if partitions is not None and partitions != len(known.partitions):
            grown = self._admin.create_partitions([NewPartitions(name, partitions)])[name]
            self._result(grown, f"giving topic {name} {partitions} partitions")
        if config:
            changes = [_change(option, value) for option, value in config.items()]
            resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=changes)
            self._result(self._admin.incremental_alter_configs([resource])[resource], f"altering topic {name}")

    def lag(self, group: str) -> Lag:
        doing = f"asking for the lag of {check_name('group', group, 'client.lag(group)')}"
        committed = self._committed(group, doing)
        places = committed.keys() | self._assigned(group, doing) | self._partitions_of_topics(committed)
        if not places:
            raise ApiError(
                f"the group {group} has committed nothing, and reads nothing", "check its name, or wait until it reads"
            )
        ends = self._offsets(places, OffsetSpec.latest(), doing)
        starts = self._offsets(places, OffsetSpec.earliest(), doing)
        reached = {place: max(starts[place], committed.get(place, 0)) for place in places}
        return Lag(group, {place: max(0, ends[place] - reached[place]) for place in sorted(places)})

    def _committed(self, group: str, doing: str) -> Places:
        answer = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group]
        found = self._result(answer, doing).topic_partitions
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def _assigned(self, group: str, doing: str) -> set[tuple[str, int]]:
        """The partitions that the group's members read at the moment; none for an unknown group."""
        try:
            found = self._result(self._admin.describe_consumer_groups([group])[group], doing)
        except ApiError as failure:
            if failure.kafka and failure.kafka.code() == KafkaError.GROUP_ID_NOT_FOUND:
                return set()
            raise
        assigned = (member.assignment for member in found.members if member.assignment)
        return {(each.topic, each.partition) for given in assigned for each in given.topic_partitions}

    def _partitions_of_topics(self, committed: Places) -> set[tuple[str, int]]:
        """All partitions of topics that it has committed in: it reads those too, or will."""
        topics = {topic for topic, _ in committed}
        return {(topic, number) for topic in topics for number in self.partitions_of(topic)}

    def _offsets(self, places: Collection[tuple[str, int]], spec: OffsetSpec, doing: str) -> Places:
        if not places:
            return {}
        answers = self._admin.list_offsets({TopicPartition(*place): spec for place in places})
        return {(each.topic, each.partition): self._result(found, doing).offset for each, found in answers.items()}

    def partitions_of(self, name: str) -> list[int]:
        return [each.id for each in self._described(name).partitions]

    def _described(self, name: str) -> Any:
        """The topic as brokers describe it, by the request that makes no topic where there is none."""
        check_topic(name)
        return self._result(self._admin.describe_topics(TopicCollection([name]))[name], f"looking for topic {name}")

    def _result(self, answer: Any, doing: str) -> Any:
        self._admin.poll(0)  # librdkafka's log lines wait for that
        try:
            return answer.result(SECONDS)
        except KafkaException as failure:
            raise self._told(failure.args[0], doing) from None
        except TimeoutError:
            raise self._told(KafkaError(KafkaError._TIMED_OUT), doing) from None

    def _told(self, error: KafkaError, doing: str) -> ApiError:
        self._admin.poll(0)  # the causes that librdkafka tells of wait for that
        return error_of(self._trouble.cause_of(error), doing)


def check_topic(name: object) -> None:
    check_name("topic", name, '"orders"')


def _change(option: str, value: object) -> ConfigEntry:
    if value is None:
        return ConfigEntry(option, None, incremental_operation=AlterConfigOpType.DELETE)
    return ConfigEntry(option, _text(value), incremental_operation=AlterConfigOpType.SET)


def _ids(nodes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(each.id for each in nodes)


def _texts(config: Mapping[str, object]) -> dict[str, str]:
    """A setting of None is left to its default."""
    return {name: _text(value) for name, value in config.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_text(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
