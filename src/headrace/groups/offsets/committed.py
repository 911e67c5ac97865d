"""The committed offsets of a group, with the text that clients store beside them, given back word for word.

Whether topics and partitions exist is the shell's to know: it takes unknown ones out of a request before and puts their
codes into the answer after. Where a version names topics by id, it fills in the names.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from headrace.groups.offsets.records import Committed, OffsetRecord

GROUP_MUST_EXIST_SINCE = 9


class PendingOffset(NamedTuple):
    order: int
    record: OffsetRecord


class CommittedOffsets:
    __slots__ = ("_order", "group_id", "pending", "topics")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.topics: dict[str, dict[int, Committed]] = {}
        self.pending: dict[int, dict[tuple[str, int], PendingOffset]] = {}
        """Offsets committed in transactions that are still open, by producer id."""
        self._order = 0

    def apply(self, record: OffsetRecord) -> None:
        self._outdate(record, self._order)
        self._store(record)

    def _store(self, record: OffsetRecord) -> None:
        if record.value is not None:
            self.topics.setdefault(record.topic, {})[record.partition] = record.value
            return
        partitions = self.topics.get(record.topic, {})
        partitions.pop(record.partition, None)
        if not partitions:
            self.topics.pop(record.topic, None)

    def apply_pending(self, producer_id: int, record: OffsetRecord) -> None:
        self._order += 1
        pending = PendingOffset(self._order, record)
        self.pending.setdefault(producer_id, {})[record.topic, record.partition] = pending

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        for order, record in self.pending.pop(producer_id, {}).values():
            if commit:
                self._outdate(record, order)
                self._store(record)

    def _outdate(self, record: OffsetRecord, order: int) -> None:
        """Drops pending commits older than this one: the later commit counts, in whatever order transactions end."""
        key = record.topic, record.partition
        for records in self.pending.values():
            if key in records and records[key].order <= order:
                del records[key]

    def is_unstable(self, topic: str, partition: int) -> bool:
        return any((topic, partition) in records for records in self.pending.values())

    def get(self, topic: str, partition: int) -> Committed | None:
        return self.topics.get(topic, {}).get(partition)

    def tombstones(self, is_gone: Callable[[str, Committed], bool]) -> Iterator[OffsetRecord]:
        for topic, partitions in self.topics.items():
            for partition, committed in partitions.items():
                if is_gone(topic, committed):
                    yield OffsetRecord(self.group_id, topic, partition, None)
