"""Rules that every record of a group keeps: noticed before it is appended, and not asked of what is read back."""

import pytest
from desk import GROUP, Desk, stored
from next_members import join_all, parts

from headrace.groups.batches import GroupBatches
from headrace.groups.classic.records import GroupRecord
from headrace.groups.consumer.records import (
    Current,
    CurrentMemberRecord,
    GroupEpochRecord,
    TargetEpochRecord,
)
from headrace.groups.invariants import assert_generation_rises
from headrace.groups.outcome import GroupOutcome


def consumers():
    """A consumer group of two, which share out the partitions."""
    desk = Desk()
    join_all(desk, "one", "two")
    return desk


def broken_records(desk):
    group = desk.consumer
    one, two = group.current_of("one"), group.current_of("two")
    return [
        GroupEpochRecord(GROUP, group.stored._replace(epoch=group.epoch - 1)),
        TargetEpochRecord(GROUP, group.target_epoch - 1),
        CurrentMemberRecord(GROUP, "one", one._replace(epoch=one.epoch - 1)),
        CurrentMemberRecord(GROUP, "one", one._replace(assigned={**one.assigned, **two.assigned})),
    ]


@pytest.mark.parametrize("rule", range(4))
def test_what_breaks_a_rule_of_consumer_groups_is_noticed(rule):
    desk = consumers()
    record = broken_records(desk)[rule]
    before = stored(desk.groups)
    with pytest.raises(AssertionError), desk.groups.table.decision(desk.consumer, desk.now, GroupOutcome()) as decision:
        decision.write(record)
    assert stored(desk.groups) == before


@pytest.mark.parametrize("rule", range(4))
def test_of_a_compacted_log_the_records_between_two_may_be_missing(rule):
    """That gave a partition away, or the tombstone between two lives of a group: see `test_log_compaction`."""
    desk = consumers()
    desk.groups.apply(broken_records(desk)[rule])


def test_a_generation_that_falls_is_noticed():
    desk = Desk()
    _, generation = desk.stable()
    record = GroupRecord(GROUP, desk.group.stored._replace(generation=generation - 1))
    with pytest.raises(AssertionError):
        assert_generation_rises(desk.groups.table.groups[GROUP], record)
    desk.groups.apply(record)
    assert desk.group.generation == generation - 1, "the tombstone of the life before may be missing"


@pytest.mark.parametrize("rule", range(4))
def test_behind_a_gap_in_the_log_all_that_is_left_is_served(rule):
    desk = consumers()
    GroupBatches(desk.groups).on_gap()
    record = broken_records(desk)[rule]
    with desk.groups.table.decision(desk.consumer, desk.now, GroupOutcome()) as decision:
        decision.write(record)
    desk.groups.apply(record)


def test_a_decision_that_is_broken_off_leaves_no_trace():
    desk = consumers()
    before = stored(desk.groups)
    with (
        pytest.raises(ZeroDivisionError),
        desk.groups.table.decision(desk.consumer, desk.now, GroupOutcome()) as decision,
    ):
        for member_id in ("one", "two"):
            decision.write(CurrentMemberRecord(GROUP, member_id, None))
        decision.write(CurrentMemberRecord(GROUP, "three", Current(9, 9, assigned=dict.fromkeys(parts(0), 9))))
        assert set(desk.consumer.owners.values()) == {"three"}
        _ = 1 / 0
    assert stored(desk.groups) == before
