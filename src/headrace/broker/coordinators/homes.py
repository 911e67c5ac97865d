"""The homes of groups, or of transactional ids: a name hashes to a partition of an internal topic, and that partition's
leader coordinates it. The topic is created when the first client asks for a coordinator.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import NewTopic
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.entities import Topic
from headrace.groups.hashing import partition_of
from headrace.wire.codes import ErrorCode


class Home(NamedTuple):
    """The home of a group, or of a transactional id."""

    partition: int
    broker: Registration


def replicas_of(setting: str, config: BrokerConfig) -> int:
    """The replicas of an internal topic: no more than the cluster gives other topics, so one where there is one broker."""
    return min(config.number(setting), config.number("default.replication.factor"))


class Homes:
    def __init__(
        self,
        view: View,
        is_fenced: Callable[[], bool],
        name: str,
        create_topic: Callable[[NewTopic], Awaitable[object]],
        new_topic: Callable[[BrokerConfig], NewTopic],
    ) -> None:
        """`name` is that of the internal topic, which `create_topic` creates as `new_topic` says."""
        self._view = view
        self._is_fenced = is_fenced
        self._name = name
        self._create = create_topic
        self._new_topic = new_topic
        self._creating: asyncio.Lock = asyncio.Lock()

    @property
    def topic(self) -> Topic | None:
        """The internal topic; None as long as it is not there."""
        return self._view.image.topics.get(self._name)

    def index_of(self, name: str) -> int | None:
        """The partition that keeps this name; None as long as the topic is not there."""
        topic = self.topic
        return None if topic is None else partition_of(name, len(topic.partitions))

    def is_ours(self, name: str) -> bool:
        topic = self.topic
        if topic is None or self._is_fenced():
            return False
        return topic.partitions[partition_of(name, len(topic.partitions))].leader == self._view.id

    async def find(self, name: str) -> Home:
        """The home of a name, or Refused with the code that makes a client ask again."""
        topic = self.topic or await self._create_topic()
        index = partition_of(name, len(topic.partitions))
        leader = topic.partitions[index].leader
        if leader not in self._view.live:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self._name}-{index} has no leader at the moment")
        return Home(index, self._view.image.brokers[leader])

    async def _create_topic(self) -> Topic:
        async with self._creating:
            known = self.topic
            if known is not None:
                return known
            try:
                await self._create(self._new_topic(self._view.config))
            except Refused as refusal:
                if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, refusal.message) from refusal
            topic = self.topic
            if topic is None:
                raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self._name} is being created")
            return topic
