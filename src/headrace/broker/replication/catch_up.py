"""The rate at which this broker's replicas that are behind may copy: `follower.replication.throttled.rate`.

It holds for replicas that their topic lists in `follower.replication.throttled.replicas`, and only while they are out of
sync: acknowledgements wait for those in sync, so they are never slowed down. One budget for all leaders we copy from. Of
the replicas it holds for, one at a time is asked for, in turn, so that an answer cannot overdraw the budget many times.
"""

from collections.abc import Iterable

from headrace.base.ids import TopicPartition
from headrace.broker.membership.view import View
from headrace.partition.partition import Partition
from headrace.replica.throttle import UNLIMITED, Throttle


class CatchUp:
    def __init__(self, view: View) -> None:
        self._view = view
        self._throttle = Throttle()
        self._asked_at: dict[TopicPartition, float] = {}

    @property
    def throttled_seconds(self) -> float:
        return self._throttle.closed_seconds

    def held_back(self, partitions: Iterable[Partition], now: float) -> set[TopicPartition]:
        """The partitions that must wait this time."""
        self._throttle.set_rate(self._view.config.number("follower.replication.throttled.rate"))
        if self._throttle.rate >= UNLIMITED:
            self._asked_at = {}
            return set()
        slow = {partition.id for partition in partitions if self._is_throttled(partition)}
        if slow and self._throttle.is_open(now):
            chosen = min(slow, key=lambda id: (self._asked_at.get(id, 0.0), id))
            self._asked_at[chosen] = now
            slow.remove(chosen)
        return slow

    def on_copied(self, partition: Partition, count: int) -> None:
        if self._throttle.rate < UNLIMITED and self._is_throttled(partition):
            self._throttle.take(count)

    def _is_throttled(self, partition: Partition) -> bool:
        listed = partition.config.follower_replication_throttled_replicas
        if not listed or self._view.id in partition.state.isr:
            return False
        return "*" in listed or f"{partition.id.partition}:{self._view.id}" in listed
