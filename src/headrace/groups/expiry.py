"""The expiry of committed offsets: offsets.retention.minutes after the group, or the reading of the topic, has ended.

    no members                counted from the moment the last one left
    stable group of consumers counted from the commit, for topics that nobody in it subscribes to any more
    never had members         counted from the commit
    rebalancing               nothing goes

A next-generation group always knows its members' subscriptions, so for it nothing has to wait for a rebalance.

Commits up to version 4 may name a retention of their own, which then decides alone. A group that has neither members
nor offsets goes too.
"""

from headrace.groups.classic.group import ClassicGroup, GroupState
from headrace.groups.classic.members import CONSUMER
from headrace.groups.group import Group
from headrace.groups.offsets.records import NO_EXPIRY, Committed
from headrace.groups.records import Record
from headrace.groups.settings import GroupSettings


def expired(group: Group, settings: GroupSettings, wall: int, knows_ages: bool = True) -> list[Record]:
    """The tombstones that are due.

    Without `knows_ages` only those of commits that named their own retention: the stamps of the others may be those of
    a clock that was wrong.
    """
    if group.consumer is None and not group.is_empty and not _knows_its_topics(group.classic):
        return []
    emptied_at = _emptied_at(group)

    def is_due(topic: str, committed: Committed) -> bool:
        if group.is_subscribed_to(topic):
            return False
        if committed.expire_timestamp != NO_EXPIRY:
            return wall >= committed.expire_timestamp
        since = committed.commit_timestamp if emptied_at is None else emptied_at
        return knows_ages and wall - since >= settings.offsets_retention_ms

    tombstones: list[Record] = list(group.offsets.tombstones(is_due))
    count = sum(map(len, group.offsets.topics.values()))
    if len(tombstones) == count and group.is_empty and not group.classic.pending:
        tombstones += group.tombstones()
    return tombstones


def _emptied_at(group: Group) -> int | None:
    """The time when the last member left; None for a group that has members, or never had any."""
    if not group.is_empty:
        return None
    if group.consumer is not None:
        return group.consumer.stored.timestamp
    return None if group.classic.stored is None else group.classic.stored.state_timestamp


def _knows_its_topics(classic: ClassicGroup) -> bool:
    is_stable = classic.state is GroupState.STABLE
    return is_stable and classic.protocol_type == CONSUMER and classic.subscribed_topics() is not None
