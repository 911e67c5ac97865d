"""All coordinators of one kind on this broker, one for each partition of an internal topic that it leads.

What is asked of a partition that we lead and have not opened yet waits until it is open.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from headrace.broker.coordinators.decision_log import DecisionLog
from headrace.broker.coordinators.homes import Homes
from headrace.broker.hosting.hosting import Hosting
from headrace.broker.tasks import Tasks
from headrace.partition.partition import Partition

RELOAD_SECONDS = 0.5


class LedCoordinator(Protocol):
    """A coordinator of one partition."""

    @property
    def decisions(self) -> DecisionLog[Any]: ...

    async def load(self) -> None:
        """Reads the partition's log, and serves once all of it is committed."""

    def expire(self) -> None:
        """Forgets what nobody has used for long."""


C = TypeVar("C", bound=LedCoordinator)


class LedCoordinators(Generic[C]):
    def __init__(
        self,
        topic: str,
        homes: Homes,
        hosting: Callable[[], Hosting],
        tasks: Tasks,
        make: Callable[[Partition], C],
    ) -> None:
        """`hosting` is of this broker, and there once it has started."""
        self.topic = topic
        self.homes = homes
        self._hosting = hosting
        self._tasks = tasks
        self._make = make
        self._coordinators: dict[int, C] = {}
        self._asked_early: list[tuple[str, Callable[[C | None], None]]] = []

    def __iter__(self) -> Iterator[C]:
        return iter(list(self._coordinators.values()))

    @property
    def is_away(self) -> bool:
        """Whether this broker has no lease: it coordinates nothing, and knows nothing of what it may coordinate again."""
        return self._hosting().partitions.is_fenced

    # -- following the partitions ------------------------------------------------------------------------------------

    def reconcile(self) -> None:
        """Coordinate what we lead, in the epoch in which we lead it, and nothing else."""
        led = self._led()
        for index, coordinator in list(self._coordinators.items()):
            partition, decisions = led.get(index), coordinator.decisions
            if partition is not decisions.partition or partition.leader_epoch != decisions.leader_epoch:
                self._drop(index)
        for index, partition in led.items():
            if index not in self._coordinators:
                self._begin(index, partition)
        self._answer_early()

    def _led(self) -> dict[int, Partition]:
        topic = self.homes.topic
        if topic is None or self._hosting().partitions.is_fenced:
            return {}
        hosted = ((index, self._hosting().partitions.find(self.topic, index)) for index in range(len(topic.partitions)))
        return {index: partition for index, partition in hosted if partition is not None and partition.is_leader}

    def _begin(self, index: int, partition: Partition) -> None:
        coordinator = self._make(partition)
        self._coordinators[index] = coordinator
        self._tasks.start(f"load {partition.id}", self._run(index, coordinator))

    async def _run(self, index: int, coordinator: C) -> None:
        await coordinator.load()
        await coordinator.decisions.until_over()
        # It could not store something, but we may still lead: then begin again from the log, not at once.
        await asyncio.sleep(RELOAD_SECONDS)
        if self._coordinators.get(index) is coordinator:
            self._drop(index)
            self.reconcile()

    def _drop(self, index: int) -> None:
        self._coordinators.pop(index).decisions.resign()

    def stop(self) -> None:
        for index in list(self._coordinators):
            self._drop(index)
        # Not at once: a client's request may have found that the lease is over.
        asyncio.get_running_loop().call_soon(self._answer_early)

    # -- asking ------------------------------------------------------------------------------------------------------

    def at(self, index: int) -> C | None:
        return self._coordinators.get(index)

    def of(self, name: str) -> C | None:
        index = self.homes.index_of(name)
        return None if index is None else self._coordinators.get(index)

    def when_here(self, name: str, ask: Callable[[C | None], None]) -> None:
        """Asks now; or, when we were just made leader of the name's partition, as soon as that is carried out and its log
        is open. A disk that does not open it costs us the lease, and `stop` answers."""
        coordinator = self.of(name)
        if coordinator is None and self.homes.is_ours(name):
            self._asked_early.append((name, ask))
        else:
            ask(coordinator)

    def _answer_early(self) -> None:
        early, self._asked_early = self._asked_early, []
        for name, ask in early:
            if self._is_opening(name):
                self._asked_early.append((name, ask))
            else:
                ask(self.of(name))

    def _is_opening(self, name: str) -> bool:
        index = self.homes.index_of(name)
        return index is not None and self.homes.is_ours(name) and self._hosting().openings.is_opening(self.topic, index)
