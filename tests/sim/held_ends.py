"""How much of each partition each broker is known to hold, in this life or the ones before: its disk outlives them.

A log that was just opened has proven nothing yet, though all that its last life had synced is there. So what was held is
remembered over a death, for as far as the log still reaches, and forgotten with a cut. A topic that is made again under its
name is another one.
"""

from typing import Any, NamedTuple

from sim.durability import end_that_counts
from sim.host import Host


class Held(NamedTuple):
    end_offset: int
    lives: int
    truncations: int


class HeldEnds:
    def __init__(self) -> None:
        self._held: dict[tuple[int, bytes, int], Held] = {}

    def note(self, host: Host, partition: Any) -> int:
        """Of a broker that serves; what it holds now."""
        key = (host.id, partition.topic_id, partition.id.partition)
        known = self._held.get(key)
        cuts = partition.log.sync.truncations
        end = end_that_counts(partition)
        if known is not None and cuts == (known.truncations if known.lives == host.lives else 0):
            end = max(end, min(known.end_offset, partition.log.end_offset))
        self._held[key] = Held(end, host.lives, cuts)
        return end

    def held(self, host: Host, topic_id: bytes, topic: str, index: int, wanted: int) -> int:
        """Now, looked at only as closely as `wanted` needs; of one that is down, or hosts another topic of that name, what
        is known of it."""
        partition = host.partition(topic, index) if host.is_serving else None
        if partition is not None and partition.topic_id == topic_id:
            end = end_that_counts(partition)
            return end if end >= wanted else self.note(host, partition)
        known = self._held.get((host.id, topic_id, index))
        return 0 if known is None else known.end_offset
