"""When committed offsets go: offsets.retention.minutes after the group, or the reading of the topic, has ended.

    no members              counted from the moment the last one left
    stable consumer group   counted from the commit, for topics that nobody in it subscribes to any more
    never had members       counted from the commit
    rebalancing             nothing goes

Commits up to version 4 may name a retention of their own, which then decides alone. A group that has neither members nor
offsets goes too.
"""

from headrace.groups.classic import ClassicGroup, GroupState
from headrace.groups.members import CONSUMER
from headrace.groups.offsets import CommittedOffsets
from headrace.groups.records import NO_EXPIRY, Committed, GroupRecord, Record
from headrace.groups.settings import GroupSettings


def expired(classic: ClassicGroup, offsets: CommittedOffsets, settings: GroupSettings, wall: int) -> list[Record]:
    """The tombstones that are due."""
    state = classic.state
    if state is not GroupState.EMPTY and not _knows_its_topics(classic):
        return []
    emptied_at = classic.stored.state_timestamp if classic.stored is not None and state is GroupState.EMPTY else None

    def is_due(topic: str, committed: Committed) -> bool:
        if classic.is_subscribed_to(topic):
            return False
        if committed.expire_timestamp != NO_EXPIRY:
            return wall >= committed.expire_timestamp
        since = committed.commit_timestamp if emptied_at is None else emptied_at
        return wall - since >= settings.offsets_retention_ms

    tombstones: list[Record] = list(offsets.tombstones(is_due))
    count = sum(map(len, offsets.topics.values()))
    if len(tombstones) == count and classic.stored is not None and state is GroupState.EMPTY and not classic.pending:
        tombstones.append(GroupRecord(classic.group_id, None))
    return tombstones


def _knows_its_topics(classic: ClassicGroup) -> bool:
    is_stable = classic.state is GroupState.STABLE
    return is_stable and classic.protocol_type == CONSUMER and classic.subscribed_topics() is not None
