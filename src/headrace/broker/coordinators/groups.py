"""The group coordinators of this broker, one for each partition of `__consumer_offsets` that it leads."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.broker.coordinators.group import GroupCoordinator
from headrace.broker.coordinators.homes import Homes, replicas_of
from headrace.broker.coordinators.led import LedCoordinators
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import NewTopic
from headrace.cluster.entities import Acl
from headrace.groups.coordinator import Groups
from headrace.groups.settings import MINUTE_MS, GroupSettings
from headrace.groups.topics import NO_TOPICS, Topics
from headrace.partition.partition import Partition

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

OFFSETS_TOPIC = "__consumer_offsets"


class GroupCoordinators(LedCoordinators[GroupCoordinator]):
    """The coordinators of groups, which also look at the cluster's topics: members subscribe to them."""

    def __init__(self, broker: "Broker") -> None:
        homes = Homes(broker.view, lambda: broker.partitions.is_fenced, OFFSETS_TOPIC, broker.create_topic, _new_topic)
        super().__init__(OFFSETS_TOPIC, homes, lambda: broker.hosting, broker.tasks, self._new)
        self._broker = broker
        self._topic_names: Mapping[bytes, str] = {}
        self._topics = NO_TOPICS
        # Rules say what an expression of a member may match.
        self._acls: Mapping[str, Acl] = {}

    def reconcile(self) -> None:
        self._look_at_topics()
        super().reconcile()
        self._forget_deleted_topics()

    def _new(self, partition: Partition) -> GroupCoordinator:
        groups = Groups(_settings(self._broker.view.config))
        groups.on_topics(self._topics)
        return GroupCoordinator(self._broker, partition, groups)

    def _look_at_topics(self) -> None:
        image = self._broker.image
        if image.topics is not self._topics.by_name or image.acls is not self._acls:
            self._acls = image.acls
            self._topics = Topics(image.topics, image.topic_names)
            for coordinator in self:
                coordinator.groups.on_topics(self._topics)

    def _forget_deleted_topics(self) -> None:
        before, self._topic_names = self._topic_names, self._broker.image.topic_names
        # The same object as long as no topic comes or goes, however many partitions change.
        if before is not self._topic_names and before.keys() - self._topic_names.keys():
            for coordinator in self:
                coordinator.forget_deleted_topics()


def _settings(config: BrokerConfig) -> GroupSettings:
    assignors = config.value("group.consumer.assignors")
    assert isinstance(assignors, tuple)
    return GroupSettings(
        config.number("group.min.session.timeout.ms"),
        config.number("group.max.session.timeout.ms"),
        config.number("group.initial.rebalance.delay.ms"),
        config.number("group.max.size"),
        config.number("offset.metadata.max.bytes"),
        config.number("offsets.retention.minutes") * MINUTE_MS,
        assignors or GroupSettings().consumer_assignors,
        config.number("group.consumer.session.timeout.ms"),
        config.number("group.consumer.heartbeat.interval.ms"),
        config.number("group.consumer.assignment.interval.ms"),
        config.number("group.consumer.max.size"),
        config.string("group.consumer.migration.policy") or "bidirectional",
    )


def _new_topic(config: BrokerConfig) -> NewTopic:
    replicas = replicas_of("offsets.topic.replication.factor", config)
    settings = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "flush.messages": "1",
        "segment.bytes": str(config.number("offsets.topic.segment.bytes")),
    }
    return NewTopic(OFFSETS_TOPIC, config.number("offsets.topic.num.partitions"), replicas, settings)
