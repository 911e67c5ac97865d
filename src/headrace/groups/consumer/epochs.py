"""The progress of a consumer group: its epoch rises when something changed, its target is computed when the epoch is
ahead.

Assignors run at most once in `group.consumer.assignment.interval.ms`: a hundred members that come together cost a few
runs, not a hundred. The first run of a coordinator never waits.
"""

from collections import Counter

from headrace.groups.consumer.assignors import ASSIGNORS
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.records import (
    GroupEpoch,
    GroupEpochRecord,
    TargetEpochRecord,
    TargetMemberRecord,
)
from headrace.groups.partitions import NO_PARTS, Parts
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import metadata_hash, parts_of


def bump_if_topics_changed(decision: Decision) -> None:
    """Raises the group epoch if the subscribed topics differ from those it began with, under whichever coordinator."""
    group, topics = decision.group, decision.topics
    if group.subscriptions.seen_topics is not topics:
        group.subscriptions.look_at(topics, decision.sight)
        if metadata_hash(group.subscriptions.topics(), topics.by_name) != group.stored.metadata_hash:
            bump_epoch(decision)


def bump_epoch(decision: Decision) -> None:
    group, topics = decision.group, decision.topics
    group.subscriptions.look_at(topics, decision.sight)
    hashed = metadata_hash(group.subscriptions.topics(), topics.by_name)
    decision.write(GroupEpochRecord(group.group_id, GroupEpoch(group.epoch + 1, hashed, decision.now.wall)))


def assign_if_due(decision: Decision) -> None:
    group = decision.group
    if group.epoch <= group.target_epoch or not group.members:
        return
    due = decision.now.mono
    if group.assigned_at is not None:
        due = group.assigned_at + decision.settings.consumer_assignment_interval_ms / 1000
    if due <= decision.now.mono:
        _assign(decision)
    elif group.assign_timer_at is None:
        group.assign_timer_at = due
        decision.set_timer(group.assign_timer, due)


def on_assign_timer(decision: Decision) -> None:
    decision.group.assign_timer_at = None
    assign_if_due(decision)


def _assign(decision: Decision) -> None:
    group = decision.group
    group.assigned_at = decision.now.mono
    target = _target(decision)
    for member_id in sorted(target):
        if target[member_id] != group.target_of(member_id):
            decision.write(TargetMemberRecord(group.group_id, member_id, target[member_id]))
    decision.write(TargetEpochRecord(group.group_id, group.epoch))


def _target(decision: Decision) -> dict[str, Parts]:
    group, by_name = decision.group, decision.topics.by_name
    counts = parts_of(group.subscriptions.topics(), by_name)
    ids: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    subscribed = {}
    for member in group.members.values():
        wish = member.topics, member.expression
        if wish not in ids:
            ids[wish] = frozenset(by_name[name].id for name in group.subscriptions.of(member) if name in by_name)
        subscribed[member.member_id] = ids[wish]
    former = {member_id: group.target.get(member_id, NO_PARTS) for member_id in subscribed}
    return ASSIGNORS[assignor_of(group, decision.settings)](subscribed, counts, former)


def assignor_of(group: ConsumerGroup, settings: GroupSettings) -> str:
    """The assignor that most members ask for, among those offered."""
    wishes = Counter(
        member.assignor for member in group.members.values() if member.assignor in settings.consumer_assignors
    )
    return max(sorted(wishes), key=wishes.__getitem__) if wishes else settings.consumer_assignors[0]
