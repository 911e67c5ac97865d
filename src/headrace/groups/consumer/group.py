"""A consumer group of the next generation (KIP-848): the coordinator assigns, each member is moved there at its own
pace.

    group epoch     rises with every change of members, subscriptions or topics
    target          the assignment to reach, computed at some group epoch: the target epoch
    current         the partitions each member has been told; its member epoch reaches the target epoch once it has given up
                    those that are not its own any more

    Empty ─▶ Assigning (group epoch ahead of target) ─▶ Reconciling (members behind the target) ─▶ Stable

A partition is owned by one member from the moment it is told so until it says that it has given it up: `owners`.

Stored state changes by `apply` only. Later steps of a decision build on its earlier records: it applies them as it goes and
takes them back when it ends (`decision`), and the shell applies them when they are appended.
"""

from enum import StrEnum

from headrace.base.outcome import TimerKey
from headrace.groups.consumer.records import (
    ConsumerMember,
    ConsumerRecord,
    Current,
    CurrentMemberRecord,
    GroupEpoch,
    GroupEpochRecord,
    MemberRecord,
    MemberState,
    TargetEpochRecord,
    TargetMemberRecord,
)
from headrace.groups.consumer.subscriptions import Subscriptions
from headrace.groups.partitions import NO_PARTS, Part, Parts
from headrace.groups.sessions import Session


class ConsumerGroupState(StrEnum):
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


NO_EPOCH = GroupEpoch(0, 0, -1)
NEVER_TOLD = Current()


class ConsumerGroup:
    __slots__ = (
        "assign_timer_at",
        "assigned_at",
        "awaited_joins",
        "awaited_syncs",
        "current",
        "group_id",
        "member_id_of_instance",
        "members",
        "owners",
        "revocation_ends",
        "sessions",
        "stored",
        "subscriptions",
        "target",
        "target_epoch",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.stored = NO_EPOCH
        self.members: dict[str, ConsumerMember] = {}
        self.member_id_of_instance: dict[str, str] = {}
        self.target_epoch = 0
        self.target: dict[str, Parts] = {}
        self.current: dict[str, Current] = {}
        self.owners: dict[Part, str] = {}
        # The fields below may be lost.
        self.sessions: dict[str, Session] = {}
        # The deadlines for members to give up partitions they were asked for.
        self.revocation_ends: dict[str, float] = {}
        # Deadlines of members with the classic protocol to join anew, or to ask for their assignment.
        self.awaited_joins: dict[str, float] = {}
        self.awaited_syncs: dict[str, float] = {}
        self.assigned_at: float | None = None
        self.assign_timer_at: float | None = None
        self.subscriptions = Subscriptions(self.members, self.target)

    # -- stored state ------------------------------------------------------------------------------------------------

    def apply(self, record: ConsumerRecord) -> None:
        match record:
            case GroupEpochRecord(_, value):
                self.stored = value or NO_EPOCH
            case MemberRecord(_, member_id, member):
                self._apply_member(member_id, member)
            case TargetEpochRecord(_, epoch):
                self.target_epoch = epoch or 0
            case TargetMemberRecord(_, member_id, parts):
                if parts is None:
                    self.target.pop(member_id, None)
                else:
                    self.target[member_id] = parts
            case CurrentMemberRecord(_, member_id, current):
                self._apply_current(member_id, current)

    def former(self, record: ConsumerRecord) -> ConsumerRecord:
        """The record that takes this one back: what is stored in its place now."""
        match record:
            case GroupEpochRecord(group_id):
                return GroupEpochRecord(group_id, None if self.stored is NO_EPOCH else self.stored)
            case MemberRecord(group_id, member_id):
                return MemberRecord(group_id, member_id, self.members.get(member_id))
            case TargetEpochRecord(group_id):
                return TargetEpochRecord(group_id, self.target_epoch or None)
            case TargetMemberRecord(group_id, member_id):
                return TargetMemberRecord(group_id, member_id, self.target.get(member_id))
            case CurrentMemberRecord(group_id, member_id):
                return CurrentMemberRecord(group_id, member_id, self.current.get(member_id))

    def _apply_member(self, member_id: str, member: ConsumerMember | None) -> None:
        former = self.members.pop(member_id, None)
        instance_id = None if former is None else former.instance_id
        if instance_id is not None and self.member_id_of_instance.get(instance_id) == member_id:
            del self.member_id_of_instance[instance_id]
        if member is not None:
            self.members[member_id] = member
            if member.instance_id is not None:
                self.member_id_of_instance[member.instance_id] = member_id

    def _apply_current(self, member_id: str, current: Current | None) -> None:
        former = self.current.pop(member_id, NEVER_TOLD)
        for part in (*former.assigned, *former.revoking):
            if self.owners.get(part) == member_id:
                del self.owners[part]
        if current is not None:
            self.current[member_id] = current
            for part in (*current.assigned, *current.revoking):
                self.owners[part] = member_id

    def tombstones(self) -> list[ConsumerRecord]:
        """The tombstones of all its records, members first: at no point does the log tell of a member without its group."""
        gone: list[ConsumerRecord] = []
        gone += [CurrentMemberRecord(self.group_id, member_id, None) for member_id in self.current]
        gone += [TargetMemberRecord(self.group_id, member_id, None) for member_id in self.target]
        gone += [MemberRecord(self.group_id, member_id, None) for member_id in self.members]
        if self.target_epoch:
            gone.append(TargetEpochRecord(self.group_id, None))
        gone.append(GroupEpochRecord(self.group_id, None))
        return gone

    # -- its state ---------------------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self.stored.epoch

    @property
    def is_void(self) -> bool:
        return not (self.stored.epoch or self.members or self.target_epoch or self.target or self.current)

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(map(self.is_reconciled, self.members)):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def is_reconciled(self, member_id: str) -> bool:
        current = self.current_of(member_id)
        return current.state is MemberState.STABLE and current.epoch == self.target_epoch

    def current_of(self, member_id: str) -> Current:
        return self.current.get(member_id, NEVER_TOLD)

    def target_of(self, member_id: str) -> Parts:
        return self.target.get(member_id, NO_PARTS)

    def is_owned_by_another(self, part: Part, member_id: str) -> bool:
        return self.owners.get(part, member_id) != member_id

    # -- its timers' keys --------------------------------------------------------------------------------------------

    def session_timer(self, member_id: str) -> TimerKey:
        return ("session", self.group_id, member_id)

    def revocation_timer(self, member_id: str) -> TimerKey:
        return ("revocation", self.group_id, member_id)

    def awaited_join_timer(self, member_id: str) -> TimerKey:
        return ("awaited join", self.group_id, member_id)

    def awaited_sync_timer(self, member_id: str) -> TimerKey:
        return ("awaited sync", self.group_id, member_id)

    @property
    def assign_timer(self) -> TimerKey:
        return ("assign", self.group_id)
