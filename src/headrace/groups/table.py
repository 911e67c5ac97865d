"""The groups of one partition by their ids, and the facts that all of them share: the settings, and the topics of now."""

from headrace.base.clock import Now
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.group import Group
from headrace.groups.outcome import GroupOutcome
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import NO_TOPICS, Sight


class GroupTable:
    __slots__ = ("groups", "is_whole", "settings", "topics")

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.topics = NO_TOPICS
        self.groups: dict[str, Group] = {}
        # Whether the log was read without gaps; see `invariants`.
        self.is_whole = True

    def get(self, group_id: str) -> Group | None:
        return self.groups.get(group_id)

    def get_or_add(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = Group(group_id)
        return group

    def drop_if_void(self, group: Group) -> None:
        if group.is_void:
            self.groups.pop(group.group_id, None)

    def decision(self, consumer: ConsumerGroup, now: Now, out: GroupOutcome, sight: Sight | None = None) -> Decision:
        """A decision about a consumer group; `sight` is that of the member that reports, None where none does."""
        return Decision(consumer, self.topics, self.settings, now, out, sight, self.is_whole)
