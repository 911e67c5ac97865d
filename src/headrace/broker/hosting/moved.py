"""Partitions that changed, taken from `Ready.moved`: once for the next checkpoint, and as long as they are not at rest for
what only the passing of time brings. A quiet one costs nothing.
"""

from headrace.partition.partition import Partition
from headrace.partition.ready import Ready


class Moved:
    def __init__(self, ready: Ready[Partition]) -> None:
        self._ready = ready
        self._restless: dict[Partition, None] = {}
        self._unsaved: dict[Partition, None] = {}

    def restless(self) -> list[Partition]:
        """Partitions that are not at rest: the passing of time changes something about them."""
        self._take()
        for partition in [each for each in self._restless if each.is_gone or each.upkeep.is_at_rest]:
            del self._restless[partition]
        return list(self._restless)

    def take_unsaved(self) -> dict[Partition, None]:
        """Partitions of which something is to be written down, up to now."""
        self._take()
        unsaved, self._unsaved = self._unsaved, {}
        return unsaved

    def _take(self) -> None:
        moved = self._ready.moved
        self._restless.update(moved)
        self._unsaved.update(moved)
        moved.clear()
