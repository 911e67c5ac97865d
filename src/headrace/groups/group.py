"""A group: its members by either protocol, and its committed offsets.

Members and offsets come and go apart from each other; the group exists while either does. It is a consumer group while
`consumer` is there, and a classic one otherwise.
"""

from headrace.groups.classic import ClassicGroup, GroupState
from headrace.groups.consumer import ConsumerGroup
from headrace.groups.offsets import CommittedOffsets
from headrace.groups.records import GroupRecord, OffsetRecord, Record


class Group:
    __slots__ = ("classic", "consumer", "group_id", "offsets")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.classic = ClassicGroup(group_id)
        self.consumer: ConsumerGroup | None = None
        self.offsets = CommittedOffsets(group_id)

    def apply(self, record: Record) -> None:
        if isinstance(record, OffsetRecord):
            self.offsets.apply(record)
        elif isinstance(record, GroupRecord):
            self.classic.apply(record.value)
        else:
            consumer = self.consumer or ConsumerGroup(self.group_id)
            consumer.apply(record)
            self.consumer = None if consumer.is_void else consumer

    @property
    def is_void(self) -> bool:
        has_offsets = bool(self.offsets.topics or self.offsets.pending)
        return not has_offsets and self.classic.is_void and self.consumer is None

    @property
    def is_empty(self) -> bool:
        if self.consumer is not None:
            return not self.consumer.members
        return self.classic.state is GroupState.EMPTY

    def is_subscribed_to(self, topic: str) -> bool:
        return (self.consumer or self.classic).is_subscribed_to(topic)

    def tombstones(self) -> list[Record]:
        """The tombstones of an empty group, without those of its offsets."""
        if self.consumer is not None:
            return list(self.consumer.tombstones())
        return [] if self.classic.stored is None else [GroupRecord(self.group_id, None)]
