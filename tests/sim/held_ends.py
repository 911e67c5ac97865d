"""How much of each partition each broker is known to hold, in this life or the ones before: its disk outlives them.

A log that was just opened has proven nothing yet, though all that its last life had synced is there. So what was held is
remembered over a death, for as far as the log still reaches, and forgotten with a cut.
"""

from typing import Any, NamedTuple

from sim.host import Host


class Held(NamedTuple):
    end_offset: int
    lives: int
    truncations: int


class HeldEnds:
    def __init__(self) -> None:
        self._held: dict[tuple[int, str, int], Held] = {}

    def note(self, host: Host, partition: Any, end_that_counts: int) -> int:
        """Of a broker that serves; what it holds now."""
        key = (host.id, *partition.id)
        known = self._held.get(key)
        cuts = partition.log.truncations
        end = end_that_counts
        if known is not None and cuts == (known.truncations if known.lives == host.lives else 0):
            end = max(end, min(known.end_offset, partition.log.end_offset))
        self._held[key] = Held(end, host.lives, cuts)
        return end

    def last_known(self, broker_id: int, topic: str, index: int) -> int:
        known = self._held.get((broker_id, topic, index))
        return 0 if known is None else known.end_offset
