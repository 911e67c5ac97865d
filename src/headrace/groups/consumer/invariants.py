"""The rules that every record of a consumer group keeps, given the records before it: asserted before it is appended, and
again when it is applied. Rules about one key only: of a compacted log the records of other keys may be missing."""

from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.records import (
    LEFT_FOR_A_WHILE,
    ConsumerRecord,
    Current,
    CurrentMemberRecord,
    GroupEpoch,
    GroupEpochRecord,
    TargetEpochRecord,
)

# The epoch of a member that came back under another id, and has not been told anything yet.
_NOTHING_TOLD = 0


def assert_consumer_follows(group: ConsumerGroup, record: ConsumerRecord) -> None:
    match record:
        case GroupEpochRecord(_, GroupEpoch(epoch=epoch)):
            assert epoch >= group.epoch, (record, group.epoch)
        case TargetEpochRecord(_, int(epoch)):
            assert epoch >= group.target_epoch, (record, group.target_epoch)
        case CurrentMemberRecord(_, member_id, Current() as current):
            _assert_current_follows(group, member_id, current)


def _assert_current_follows(group: ConsumerGroup, member_id: str, current: Current) -> None:
    """The epoch of a member never falls while it is there, and a partition has one owner at any time."""
    if current.epoch not in (LEFT_FOR_A_WHILE, _NOTHING_TOLD):
        assert current.epoch >= group.current_of(member_id).epoch, (member_id, current, group.current_of(member_id))
    for part in (*current.assigned, *current.revoking):
        assert not group.is_owned_by_another(part, member_id), (member_id, part, group.owners[part])
