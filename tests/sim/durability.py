"""What an ack rests on while a topic's `flush.messages` changes.

A broker goes by what it has heard. What it had in memory when it heard that the topic is durable may be counted already: of
a leader what was committed, of a follower all of its log, which is what it reports. A cut takes away what is above it only.
Everything else must be on its disk.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.log.sync import SyncState
from headrace.partition.role import Role

# By replica: the end that counted when it heard that its topic is durable, or, if it was cut since, the lowest cut.
_counted_ends: dict[Any, int] = {}


def end_that_counts(partition: Any) -> int:
    """Of a topic that is not durable an ack rests on the logs of the in-sync replicas, not on their disks."""
    log = partition.log
    if not _must_sync(partition):
        return int(log.end_offset)
    return int(max(log.sync.synced_end, _counted_ends.get(partition, 0)))


def _must_sync(partition: Any) -> bool:
    return bool(partition.config.is_durable or partition.is_durable)


@contextmanager
def hearings_noted() -> Iterator[None]:
    on_config, on_truncated = Role.on_config, SyncState.on_truncated

    def noted(self: Role, config: Any, log_config: Any) -> None:
        if config.is_durable and not _must_sync(self):
            _counted_ends[self] = self.high_watermark if self.is_leader else self.log.end_offset
        on_config(self, config, log_config)

    def cut(self: SyncState, end_offset: int) -> None:
        for replica, counted in _counted_ends.items():
            if replica.log.sync is self:
                _counted_ends[replica] = min(counted, end_offset)
        on_truncated(self, end_offset)

    Role.on_config, SyncState.on_truncated = noted, cut  # type: ignore[method-assign]
    try:
        yield
    finally:
        Role.on_config, SyncState.on_truncated = on_config, on_truncated  # type: ignore[method-assign]
        _counted_ends.clear()
