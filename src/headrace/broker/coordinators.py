"""All coordinators of this broker, one for each partition of `__consumer_offsets` that it leads, and where others are."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from headrace.base.errors import Refused
from headrace.broker.coordinator import Coordinator
from headrace.broker.partition import Partition
from headrace.cluster.changes import NewTopic
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.entities import Topic
from headrace.groups.coordinator import Groups
from headrace.groups.hashing import partition_of
from headrace.groups.settings import MINUTE_MS, GroupSettings
from headrace.wire.codes import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

log = logging.getLogger("headrace.coordinators")

OFFSETS_TOPIC = "__consumer_offsets"
RELOAD_SECONDS = 0.5


class Home(NamedTuple):
    """Where a group lives."""

    partition: int
    broker: Registration


class Coordinators:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._coordinators: dict[int, Coordinator] = {}
        self._topic_ids: frozenset[bytes] = frozenset()
        self._creating: asyncio.Lock = asyncio.Lock()
        self._asked_early: list[Callable[[], None]] = []

    def __iter__(self) -> Iterator[Coordinator]:
        return iter(list(self._coordinators.values()))

    # -- following the partitions ------------------------------------------------------------------------------------

    def reconcile(self) -> None:
        """Coordinate what we lead, in the epoch in which we lead it, and nothing else."""
        led = self._led()
        for index, coordinator in list(self._coordinators.items()):
            partition = led.get(index)
            if partition is not coordinator.partition or partition.leader_epoch != coordinator.leader_epoch:
                self._drop(index)
        for index, partition in led.items():
            if index not in self._coordinators:
                self._begin(index, partition)
        self._forget_deleted_topics()
        self._answer_early()

    def _led(self) -> dict[int, Partition]:
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        if topic is None or self._broker.partitions.is_fenced:
            return {}
        hosted = ((index, self._broker.partitions.find(OFFSETS_TOPIC, index)) for index in range(len(topic.partitions)))
        return {index: partition for index, partition in hosted if partition is not None and partition.is_leader}

    def _begin(self, index: int, partition: Partition) -> None:
        coordinator = Coordinator(self._broker, partition, Groups(self._settings()))
        self._coordinators[index] = coordinator
        self._broker.tasks.start(f"load {partition.id}", self._run(index, coordinator))

    async def _run(self, index: int, coordinator: Coordinator) -> None:
        await coordinator.load()
        await coordinator.until_over()
        # It could not store something, but we may still lead: then begin again from the log, not at once.
        await asyncio.sleep(RELOAD_SECONDS)
        if self._coordinators.get(index) is coordinator:
            self._drop(index)
            self.reconcile()

    def _drop(self, index: int) -> None:
        self._coordinators.pop(index).give_up()

    def stop(self) -> None:
        for index in list(self._coordinators):
            self._drop(index)
        self._answer_early()

    def _settings(self) -> GroupSettings:
        config = self._broker.config
        return GroupSettings(
            config.number("group.min.session.timeout.ms"),
            config.number("group.max.session.timeout.ms"),
            config.number("group.initial.rebalance.delay.ms"),
            config.number("group.max.size"),
            config.number("offset.metadata.max.bytes"),
            config.number("offsets.retention.minutes") * MINUTE_MS,
        )

    def _forget_deleted_topics(self) -> None:
        ids = frozenset(self._broker.image.topic_names)
        gone, self._topic_ids = self._topic_ids - ids, ids
        if gone:
            for coordinator in self:
                coordinator.forget_deleted_topics()

    def expire(self) -> None:
        for coordinator in self:
            coordinator.expire()

    # -- finding -----------------------------------------------------------------------------------------------------

    def of_group(self, group_id: str) -> Coordinator | None:
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        if topic is None:
            return None
        return self._coordinators.get(partition_of(group_id, len(topic.partitions)))

    def when_here(self, group_id: str, ask: Callable[[], None]) -> None:
        """Asks now; or, when we were just made leader of the group's partition, as soon as that is carried out."""
        if self.of_group(group_id) is None and self._is_ours(group_id):
            self._asked_early.append(ask)
        else:
            ask()

    def _is_ours(self, group_id: str) -> bool:
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        if topic is None or self._broker.partitions.is_fenced:
            return False
        return topic.partitions[partition_of(group_id, len(topic.partitions))].leader == self._broker.id

    def _answer_early(self) -> None:
        early, self._asked_early = self._asked_early, []
        for ask in early:
            ask()

    async def find(self, group_id: str) -> Home:
        """Where a group lives, or Refused with the code that makes a client ask again."""
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        if topic is None:
            topic = await self._create_topic()
        index = partition_of(group_id, len(topic.partitions))
        leader = topic.partitions[index].leader
        if leader not in self._broker.live:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC}-{index} has no leader at the moment")
        return Home(index, self._broker.image.brokers[leader])

    async def _create_topic(self) -> Topic:
        config = self._broker.config
        async with self._creating:
            known = self._broker.image.topics.get(OFFSETS_TOPIC)
            if known is not None:
                return known
            # A cluster that gives its topics fewer replicas, such as one broker alone, gives this one no more.
            replicas = min(
                config.number("offsets.topic.replication.factor"), config.number("default.replication.factor")
            )
            settings = {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "flush.messages": "1",
                "segment.bytes": str(config.number("offsets.topic.segment.bytes")),
            }
            new = NewTopic(OFFSETS_TOPIC, config.number("offsets.topic.num.partitions"), replicas, settings)
            try:
                await self._broker.create_topic(new)
            except Refused as refusal:
                if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, refusal.message) from refusal
            topic = self._broker.image.topics.get(OFFSETS_TOPIC)
            if topic is None:
                raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC} is being created")
            return topic
