"""A classic group: its members compute the assignment among themselves, the coordinator only brings them together.

    Empty ─join─▶ PreparingRebalance ─all joined, or time-out─▶ CompletingRebalance ─leader's assignment─▶ Stable
      ▲                  │  ▲                                            │                                  │
      └───nobody left────┘  └────── a member joins, leaves, dies or changes what it wants ─────────────────┘

Only `stored` survives, and only `apply` changes it: the end of each phase is a record. Unlike Kafka we store the end of
the join phase too, so a generation that members have heard of is never used for another set of members.

`members` are the stored members, except while the group prepares a rebalance: then the members of the next generation.
Losing the rest (who waits, who is alive) costs clients a retry, never an assignment.
"""

from enum import StrEnum
from typing import NamedTuple

from headrace.base.outcome import TimerKey
from headrace.groups.classic.members import CONSUMER, Member, topics_of
from headrace.groups.classic.records import StoredGroup
from headrace.groups.sessions import Session
from headrace.wire.codes import ErrorCode


class GroupState(StrEnum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ParkedRequest(NamedTuple):
    """A request whose answer has to wait."""

    ticket: int
    version: int


class JoinPhase:
    """The phase PreparingRebalance: the members that have joined so far, and the time until which others may."""

    __slots__ = ("deadline", "grew", "is_delayed", "leader", "newcomers", "protocol_type", "remaining", "tickets")

    def __init__(self, protocol_type: str, leader: str | None) -> None:
        self.protocol_type = protocol_type
        # The leader of the next generation, if it joins.
        self.leader = leader
        self.tickets: dict[str, ParkedRequest] = {}
        # Newcomers may not know their member id yet, and cannot heartbeat while they wait.
        self.newcomers: set[str] = set()
        self.deadline = 0.0
        # The first members of an empty group wait for others: whether some came since, and how much longer it may take.
        self.is_delayed = False
        self.grew = False
        self.remaining = 0.0


class ClassicGroup:
    __slots__ = (
        "_subscribed",
        "former_epochs",
        "former_generation",
        "group_id",
        "join_phase",
        "member_id_of_instance",
        "members",
        "parked_syncs",
        "pending",
        "sessions",
        "stored",
        "sync_deadline",
        "unsynced",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.stored: StoredGroup | None = None
        self.members: dict[str, Member] = {}
        self.member_id_of_instance: dict[str, str] = {}
        # The epochs of members that came from a consumer group: each knows its own, as long as this generation lasts.
        self.former_epochs: dict[str, int] = {}
        self.former_generation = 0
        self.join_phase: JoinPhase | None = None
        self.parked_syncs: dict[str, ParkedRequest] = {}
        # Members of this generation that have not asked for their assignment yet.
        self.unsynced: set[str] = set()
        self.sync_deadline: float | None = None
        # Ids handed out with MEMBER_ID_REQUIRED and not used yet, with the time they lapse.
        self.pending: dict[str, float] = {}
        self.sessions: dict[str, Session] = {}
        self._subscribed: frozenset[str] | None = None

    def apply(self, stored: StoredGroup | None) -> None:
        if stored is not None and stored.generation != self.former_generation:
            self.former_epochs = {}
        self.stored = stored
        self.members = {} if stored is None else {member.member_id: member for member in stored.members}
        self.member_id_of_instance = {
            member.instance_id: member.member_id for member in self.members.values() if member.instance_id is not None
        }
        self._subscribed = None

    def forget_waits(self) -> None:
        """Keeps what is stored, and forgets who waits and who is alive."""
        self.join_phase = None
        self.parked_syncs = {}
        self.unsynced = set()
        self.sync_deadline = None
        self.pending = {}
        self.sessions = {}
        self.apply(self.stored)

    # -- its state ---------------------------------------------------------------------------------------------------

    @property
    def state(self) -> GroupState:
        if self.join_phase is not None:
            return GroupState.PREPARING_REBALANCE
        if self.stored is None or not self.stored.members:
            return GroupState.EMPTY
        return GroupState.COMPLETING_REBALANCE if self.stored.awaits_assignment else GroupState.STABLE

    @property
    def is_void(self) -> bool:
        """Whether nothing about the group is stored or going on."""
        return self.stored is None and self.join_phase is None and not self.members and not self.pending

    @property
    def generation(self) -> int:
        return 0 if self.stored is None else self.stored.generation

    @property
    def leader(self) -> str | None:
        return None if self.stored is None else self.stored.leader

    @property
    def protocol_type(self) -> str:
        if self.join_phase is not None:
            return self.join_phase.protocol_type
        return "" if self.stored is None else self.stored.protocol_type

    @property
    def rebalance_timeout(self) -> float:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0) / 1000

    def is_subscribed_to(self, topic: str) -> bool:
        if self.state is GroupState.EMPTY or self.protocol_type != CONSUMER:
            return False
        topics = self.subscribed_topics()
        return topics is None or topic in topics

    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics of the current generation; None without one, or if a subscription could not be read."""
        if self._subscribed is None and self.stored is not None and self.stored.members:
            parts = [topics_of(member.metadata(self.stored.protocol_name)) for member in self.stored.members]
            known = [part for part in parts if part is not None]
            self._subscribed = frozenset().union(*known) if len(known) == len(parts) else None
        return self._subscribed

    # -- its members -------------------------------------------------------------------------------------------------

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if instance_id is not None:
            owner = self.member_id_of_instance.get(instance_id)
            if owner is not None and owner != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if owner is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_generation(self, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        code = self.check_member(member_id, instance_id)
        if code is ErrorCode.NONE and generation != self.former_epochs.get(member_id, self.generation):
            return ErrorCode.ILLEGAL_GENERATION
        return code

    # -- its timers' keys --------------------------------------------------------------------------------------------

    @property
    def join_timer(self) -> TimerKey:
        return ("join", self.group_id)

    @property
    def sync_timer(self) -> TimerKey:
        return ("sync", self.group_id)

    def session_timer(self, member_id: str) -> TimerKey:
        return ("session", self.group_id, member_id)

    def pending_timer(self, member_id: str) -> TimerKey:
        return ("pending", self.group_id, member_id)
