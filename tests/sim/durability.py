"""What an ack rests on while a topic's `flush.messages` changes.

A broker goes by what it has heard. What it had in memory when it heard that the topic is durable may be counted already: of
a leader what was committed, of a follower all of its log, which is what it reports. Everything else must be on its disk.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from headrace.partition.role import Role


class Heard(NamedTuple):
    """At the moment at which a replica heard that its topic is durable."""

    counted_end: int
    truncations: int


_heard: dict[Any, Heard] = {}


def end_that_counts(partition: Any) -> int:
    """Of a topic that is not durable an ack rests on the logs of the in-sync replicas, not on their disks."""
    log = partition.log
    if not _must_sync(partition):
        return int(log.end_offset)
    heard = _heard.get(partition)
    if heard is None or heard.truncations != log.sync.truncations:
        return int(log.sync.synced_end)
    return int(max(log.sync.synced_end, min(heard.counted_end, log.end_offset)))


def _must_sync(partition: Any) -> bool:
    return bool(partition.config.is_durable or partition.is_durable)


@contextmanager
def hearings_noted() -> Iterator[None]:
    on_config = Role.on_config

    def noted(self: Role, config: Any, log_config: Any) -> None:
        if config.is_durable and not _must_sync(self):
            counted_end = self.high_watermark if self.is_leader else self.log.end_offset
            _heard[self] = Heard(counted_end, self.log.sync.truncations)
        on_config(self, config, log_config)

    Role.on_config = noted  # type: ignore[method-assign]
    try:
        yield
    finally:
        Role.on_config = on_config  # type: ignore[method-assign]
        _heard.clear()
