"""The change of a group from one protocol to the other: the one ends and the other begins in the same batch of records.

    classic ──the first member with the new protocol comes──▶ consumer   members keep what they have, and join anew
    consumer ──the last one goes, classic members stay──▶ classic        they assign among themselves again

A group without members changes freely. `group.consumer.migration.policy` says which way others may.
"""

from headrace.base.clock import Now
from headrace.base.errors import PeerError, Refused
from headrace.base.outcome import Reply, Timer
from headrace.groups.classic.embedded import read_assignment, read_subscription, write_assignment
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.members import CONSUMER, Member, choose_protocol
from headrace.groups.classic.rebalance import open_join_phase
from headrace.groups.classic.records import GroupRecord, StoredGroup
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.records import (
    ClassicSide,
    ConsumerMember,
    ConsumerRecord,
    Current,
    CurrentMemberRecord,
    GroupEpoch,
    GroupEpochRecord,
    MemberRecord,
    TargetEpochRecord,
    TargetMemberRecord,
)
from headrace.groups.consumer.sessions import renew_consumer_session
from headrace.groups.group import Group
from headrace.groups.outcome import GroupOutcome
from headrace.groups.partitions import Part, Parts
from headrace.groups.refusals import refused_join
from headrace.groups.sessions import set_session
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import Topics
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import SyncGroupResponse

NOT_HASHED = 0


# -- from classic to consumer ----------------------------------------------------------------------------------------


def upgraded(classic: ClassicGroup, topics: Topics, settings: GroupSettings, now: Now) -> list[ConsumerRecord]:
    """The records of the consumer group that a classic group with members becomes; Refused when it cannot."""
    if not settings.may_upgrade:
        raise _not_upgradable(classic, "group.consumer.migration.policy does not allow it")
    if classic.protocol_type != CONSUMER:
        raise _not_upgradable(classic, f"its protocol is {classic.protocol_type!r}")
    if len(classic.members) > settings.consumer_max_size:
        raise _not_upgradable(classic, "it has more members than group.consumer.max.size")
    stored = classic.stored
    if stored is None or not stored.members:
        # All members are about to join for the first time, and will do so here.
        return []
    epoch = stored.generation
    records: list[ConsumerRecord] = [
        GroupEpochRecord(classic.group_id, GroupEpoch(epoch, NOT_HASHED, now.wall)),
        TargetEpochRecord(classic.group_id, epoch),
    ]
    taken: set[Part] = set()
    for member in stored.members:
        try:
            upgraded_member, parts = _upgraded_member(member, stored.protocol_name, topics)
        except PeerError as error:
            raise _not_upgradable(classic, f"what {member.member_id} subscribes to cannot be read: {error}") from None
        parts -= taken
        taken |= parts
        current = Current(epoch, epoch, assigned=dict.fromkeys(sorted(parts), epoch))
        records.append(MemberRecord(classic.group_id, member.member_id, upgraded_member))
        records.append(TargetMemberRecord(classic.group_id, member.member_id, parts))
        records.append(CurrentMemberRecord(classic.group_id, member.member_id, current))
    return records


def _not_upgradable(classic: ClassicGroup, cause: str) -> Refused:
    message = f"classic group {classic.group_id} cannot become a consumer group: {cause}"
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, message)


def _upgraded_member(member: Member, protocol: str | None, topics: Topics) -> tuple[ConsumerMember, Parts]:
    subscription = read_subscription(member.metadata(protocol), topics)
    # While the group waits for its leader, members still have the partitions they said they have.
    parts = read_assignment(member.assignment, topics) if member.assignment else subscription.owned
    upgraded_member = ConsumerMember(
        member.member_id,
        member.instance_id,
        subscription.rack_id,
        member.client_id,
        member.client_host,
        subscription.topics,
        "",
        member.rebalance_timeout_ms,
        None,
        ClassicSide(member.session_timeout_ms, member.protocols),
    )
    return upgraded_member, parts


def _end_classic(group: Group, out: GroupOutcome) -> None:
    """Ends the classic group: waiting members are sent to join anew. Ids handed out stay good, in the consumer group."""
    classic = group.classic
    code = ErrorCode.REBALANCE_IN_PROGRESS
    if classic.join_phase is not None:
        for member_id, parked in classic.join_phase.tickets.items():
            out.replies.append(Reply(parked.ticket, refused_join(member_id, parked.version, code)))
    for parked in classic.parked_syncs.values():
        out.replies.append(Reply(parked.ticket, SyncGroupResponse(error_code=code)))
    timers = [classic.join_timer, classic.sync_timer]
    timers += map(classic.pending_timer, classic.pending)
    timers += map(classic.session_timer, classic.sessions)
    out.timers.extend(Timer(timer, None) for timer in timers)
    if classic.stored is not None:
        out.records.append(GroupRecord(group.group_id, None))
    classic.forget_waits()


def begin_consumer(group: Group, decision: Decision, conversion: list[ConsumerRecord]) -> None:
    """Ends the classic group, and begins the consumer group of the decision with the records of `upgraded`."""
    _end_classic(group, decision.out)
    decision.out.records.extend(conversion)
    group.coming = decision.group
    for member_id in decision.group.members:
        renew_consumer_session(decision, member_id)


# -- from consumer to classic ----------------------------------------------------------------------------------------


def end_consumer(consumer: ConsumerGroup, out: GroupOutcome) -> None:
    out.records.extend(consumer.tombstones())
    timers = [consumer.assign_timer]
    timers += map(consumer.session_timer, consumer.sessions)
    timers += map(consumer.revocation_timer, consumer.revocation_ends)
    timers += map(consumer.awaited_join_timer, consumer.awaited_joins)
    timers += map(consumer.awaited_sync_timer, consumer.awaited_syncs)
    out.timers.extend(Timer(timer, None) for timer in timers)


def downgrade_if_due(group: Group, decision: Decision) -> None:
    if _is_downgradable(decision.group, decision.settings):
        _downgrade(group, decision)


def _is_downgradable(consumer: ConsumerGroup, settings: GroupSettings) -> bool:
    return (
        bool(consumer.members)
        and settings.may_downgrade
        and all(member.classic is not None for member in consumer.members.values())
        and len(consumer.members) <= settings.group_max_size
    )


def _downgrade(group: Group, decision: Decision) -> None:
    """Makes it a classic group: members are called to join at once, each by the epoch that it knows.

    A client that heard of an illegal generation instead would drop its partitions, or come back under another id.
    """
    consumer, classic, now, out = decision.group, group.classic, decision.now, decision.out
    epochs = {member_id: consumer.current_of(member_id).epoch for member_id in consumer.members}
    members = tuple(_downgraded_member(consumer, member, decision.topics) for member in consumer.members.values())
    leader = members[0].member_id
    stored = StoredGroup(consumer.epoch, CONSUMER, choose_protocol(members), leader, members, False, now.wall)
    end_consumer(consumer, out)
    out.records.append(GroupRecord(group.group_id, stored))
    classic.former_epochs, classic.former_generation = epochs, stored.generation
    classic.apply(stored)
    for member in members:
        set_session(classic, member.member_id, member.session_timeout_ms, now, out)
    open_join_phase(classic, now, out)
    # Its members are called, and the group is a classic one when the records are appended.
    classic.apply(None)


def _downgraded_member(consumer: ConsumerGroup, member: ConsumerMember, topics: Topics) -> Member:
    assert member.classic is not None
    protocols = member.classic.protocols
    assigned = consumer.current_of(member.member_id).assigned
    return Member(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.classic.session_timeout_ms,
        member.rebalance_timeout_ms,
        protocols,
        write_assignment(assigned, topics, protocols[0].metadata),
    )
