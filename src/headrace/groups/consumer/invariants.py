"""The rules that records of a consumer group keep, given the records before them: asserted before the append only, as those
of `groups.invariants`."""

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
        case CurrentMemberRecord(_, member_id, Current(epoch=epoch)) if epoch not in (LEFT_FOR_A_WHILE, _NOTHING_TOLD):
            assert epoch >= group.current_of(member_id).epoch, (record, group.current_of(member_id))


def assert_one_owner(group: ConsumerGroup, record: ConsumerRecord) -> None:
    match record:
        case CurrentMemberRecord(_, member_id, Current() as current):
            for part in (*current.assigned, *current.revoking):
                assert not group.is_owned_by_another(part, member_id), (member_id, part, group.owners[part])
