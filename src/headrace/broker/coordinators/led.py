"""All coordinators of one kind on this broker, one for each partition of an internal topic that it leads.

And where others are: a name hashes to a partition of the topic, and that partition's leader coordinates it. The topic is
created when the first client asks for a coordinator.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from headrace.base.errors import Refused
from headrace.broker.coordinators.logged import LoggedCoordinator
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import NewTopic
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.entities import Topic
from headrace.groups.hashing import partition_of
from headrace.partition.partition import Partition
from headrace.wire.codes import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

RELOAD_SECONDS = 0.5

C = TypeVar("C", bound=LoggedCoordinator[Any])


class Home(NamedTuple):
    """Where a group, or a transactional id, lives."""

    partition: int
    broker: Registration


def replicas_of(setting: str, config: BrokerConfig) -> int:
    """The replicas of an internal topic: no more than the cluster gives other topics, so one where there is one broker."""
    return min(config.number(setting), config.number("default.replication.factor"))


class LedCoordinators(ABC, Generic[C]):
    topic: str

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._coordinators: dict[int, C] = {}
        self._creating: asyncio.Lock = asyncio.Lock()
        self._asked_early: list[tuple[str, Callable[[C | None], None]]] = []

    @abstractmethod
    def _make(self, partition: Partition) -> C: ...

    @abstractmethod
    def _new_topic(self) -> NewTopic: ...

    def __iter__(self) -> Iterator[C]:
        return iter(list(self._coordinators.values()))

    @property
    def is_away(self) -> bool:
        """Whether this broker has no lease: it coordinates nothing, and knows nothing of what it may coordinate again."""
        return self._broker.partitions.is_fenced

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
        self._answer_early()

    def _led(self) -> dict[int, Partition]:
        topic = self._broker.image.topics.get(self.topic)
        if topic is None or self._broker.partitions.is_fenced:
            return {}
        hosted = ((index, self._broker.partitions.find(self.topic, index)) for index in range(len(topic.partitions)))
        return {index: partition for index, partition in hosted if partition is not None and partition.is_leader}

    def _begin(self, index: int, partition: Partition) -> None:
        coordinator = self._make(partition)
        self._coordinators[index] = coordinator
        self._broker.tasks.start(f"load {partition.id}", self._run(index, coordinator))

    async def _run(self, index: int, coordinator: C) -> None:
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
        # Not at once: a client's request may have found that the lease is over.
        asyncio.get_running_loop().call_soon(self._answer_early)

    # -- finding -----------------------------------------------------------------------------------------------------

    def index_of(self, name: str) -> int | None:
        """The partition that keeps this name; None as long as the topic is not there."""
        topic = self._broker.image.topics.get(self.topic)
        return None if topic is None else partition_of(name, len(topic.partitions))

    def at(self, index: int) -> C | None:
        return self._coordinators.get(index)

    def of(self, name: str) -> C | None:
        index = self.index_of(name)
        return None if index is None else self._coordinators.get(index)

    def when_here(self, name: str, ask: Callable[[C | None], None]) -> None:
        """Asks now; or, when we were just made leader of the name's partition, as soon as that is carried out and its log
        is open. A disk that does not open it costs us the lease, and `stop` answers."""
        coordinator = self.of(name)
        if coordinator is None and self.is_ours(name):
            self._asked_early.append((name, ask))
        else:
            ask(coordinator)

    def is_ours(self, name: str) -> bool:
        topic = self._broker.image.topics.get(self.topic)
        if topic is None or self._broker.partitions.is_fenced:
            return False
        return topic.partitions[partition_of(name, len(topic.partitions))].leader == self._broker.id

    def _answer_early(self) -> None:
        early, self._asked_early = self._asked_early, []
        for name, ask in early:
            if self._is_opening(name):
                self._asked_early.append((name, ask))
            else:
                ask(self.of(name))

    def _is_opening(self, name: str) -> bool:
        index = self.index_of(name)
        return index is not None and self.is_ours(name) and self._broker.hosting.openings.is_opening(self.topic, index)

    async def find(self, name: str) -> Home:
        """Where a name lives, or Refused with the code that makes a client ask again."""
        topic = self._broker.image.topics.get(self.topic)
        if topic is None:
            topic = await self._create_topic()
        index = partition_of(name, len(topic.partitions))
        leader = topic.partitions[index].leader
        if leader not in self._broker.view.live:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self.topic}-{index} has no leader at the moment")
        return Home(index, self._broker.image.brokers[leader])

    async def _create_topic(self) -> Topic:
        async with self._creating:
            known = self._broker.image.topics.get(self.topic)
            if known is not None:
                return known
            try:
                await self._broker.create_topic(self._new_topic())
            except Refused as refusal:
                if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, refusal.message) from refusal
            topic = self._broker.image.topics.get(self.topic)
            if topic is None:
                raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self.topic} is being created")
            return topic
