"""The fetchers of this broker: one for every leader of a partition that we follow, and none for others.

Told of the partitions whose state is another one, so that an image which changes few of many costs little here.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.broker.replication.catch_up import CatchUp
from headrace.broker.replication.fetcher import Fetcher
from headrace.cluster.entities import NO_LEADER
from headrace.partition.partition import Partition

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


class Fetchers:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.catch_up = CatchUp(broker.view)
        self._fetchers: dict[int, Fetcher] = {}
        self._copying: dict[Partition, Fetcher] = {}

    def update(self, partitions: Iterable[Partition]) -> None:
        """Takes in partitions that are new, gone, or have another state."""
        for partition in partitions:
            leader_id = NO_LEADER if self._broker.rot.is_known_in(partition) else _leader_to_copy(partition)
            fetcher = self._copying.get(partition)
            if fetcher is not None and fetcher.leader_id != leader_id:
                del self._copying[partition]
                fetcher.unfollow(partition)
            if leader_id != NO_LEADER:
                self._copying[partition] = self._of(leader_id)
                self._copying[partition].follow(partition)
        for leader_id in [leader_id for leader_id, fetcher in self._fetchers.items() if not fetcher.is_needed]:
            self._fetchers.pop(leader_id).stop()

    def _of(self, leader_id: int) -> Fetcher:
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            fetcher = self._fetchers[leader_id] = Fetcher(self._broker, leader_id, self.catch_up)
            fetcher.start()
        return fetcher

    def stop(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.stop()
        self._fetchers, self._copying = {}, {}


def _leader_to_copy(partition: Partition) -> int:
    return NO_LEADER if partition.is_leader or partition.is_gone else partition.state.leader
