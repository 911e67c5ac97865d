"""A group: its members by either protocol, and its committed offsets.

Members and offsets come and go apart from each other; the group exists while either does. It is a consumer group while
`consumer` is there, and a classic one otherwise.
"""

from headrace.groups.classic.group import ClassicGroup, GroupState
from headrace.groups.classic.records import GroupRecord
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.offsets.committed import CommittedOffsets
from headrace.groups.offsets.records import OffsetRecord
from headrace.groups.records import Record


class Group:
    __slots__ = ("classic", "coming", "consumer", "group_id", "offsets")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.classic = ClassicGroup(group_id)
        self.consumer: ConsumerGroup | None = None
        # The consumer group that it becomes when the records that begin it are applied.
        self.coming: ConsumerGroup | None = None
        self.offsets = CommittedOffsets(group_id)

    def apply(self, record: Record) -> None:
        if isinstance(record, OffsetRecord):
            self.offsets.apply(record)
        elif isinstance(record, GroupRecord):
            self.classic.apply(record.value)
        else:
            consumer = self.consumer or self.coming or ConsumerGroup(self.group_id)
            self.coming = None
            consumer.apply(record)
            self.consumer = None if consumer.is_void else consumer

    @property
    def is_void(self) -> bool:
        has_offsets = bool(self.offsets.topics or self.offsets.pending)
        return not has_offsets and self.classic.is_void and self.consumer is None and self.coming is None

    @property
    def is_empty(self) -> bool:
        if self.consumer is not None:
            return not self.consumer.members
        return self.classic.state is GroupState.EMPTY

    def is_subscribed_to(self, topic: str) -> bool:
        if self.consumer is not None:
            return self.consumer.subscriptions.include(topic)
        return self.classic.is_subscribed_to(topic)

    def tombstones(self) -> list[Record]:
        """The tombstones of an empty group, without those of its offsets."""
        if self.consumer is not None:
            return list(self.consumer.tombstones())
        return [] if self.classic.stored is None else [GroupRecord(self.group_id, None)]
