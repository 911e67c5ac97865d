"""Batches that a listener behind the feed has fetched, taken a block at a time.

A batch may unpack to much more than a block. So that it need not be fetched and unpacked again for each, the rest is left
with `Readings`: few at once, and for a moment only, since nobody waits for those who do not come back. No I/O.
"""

from collections import OrderedDict
from collections.abc import Sequence

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import Fetched
from headrace.gateway.push.block import Event
from headrace.gateway.push.feed import parts
from headrace.gateway.visible import VisibleRecords

READINGS_MAX = 16
Place = tuple[TopicPartition, int]


class EventReading:
    def __init__(self, partition: int, fetched: Fetched, offset: int, id_bytes: int) -> None:
        self._fetched = fetched
        self._visible = VisibleRecords(fetched, offset)
        self._parts = parts((Event(partition, record) for record in self._visible), id_bytes)

    @property
    def next_offset(self) -> int:
        """After what was taken; at the end, after what is not shown too."""
        return self._visible.next_offset

    @property
    def is_over(self) -> bool:
        return self.next_offset >= self._fetched.next_offset

    def take(self) -> Sequence[Event]:
        """Nothing, at the end."""
        return next(self._parts, ())


class Readings:
    """Readings that are not at their end, by the position where they go on."""

    def __init__(self) -> None:
        self._open: OrderedDict[Place, EventReading] = OrderedDict()

    def leave(self, id: TopicPartition, reading: EventReading) -> None:
        if not reading.is_over:
            self._open[id, reading.next_offset] = reading
        if len(self._open) > READINGS_MAX:
            self._open.popitem(last=False)

    def take(self, id: TopicPartition, offset: int) -> EventReading | None:
        return self._open.pop((id, offset), None)

    def clear(self) -> None:
        self._open.clear()
