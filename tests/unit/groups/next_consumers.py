"""Consumers of both protocols as clients program them, for the test of whole lives.

Each acts only when told to: it may be slow, die, or go on for a while after it was given up for dead. What it holds it
holds until it has done with it, and the ledger, shared by all, complains when two members of the group hold the same.
"""

from desk import GROUP, join_request, protocols

from headrace.groups.classic.embedded import read_assignment
from headrace.groups.partitions import from_wire, to_wire
from headrace.wire.codec import encoded
from headrace.wire.messages.embedded import EmbeddedAssignment, EmbeddedPartitions, EmbeddedSubscription
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from headrace.wire.messages.groups_consumer import ConsumerGroupHeartbeatRequest

NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, ID_REQUIRED = 16, 22, 25, 27, 79
FENCED_EPOCH, HELD_INSTANCE, STALE_EPOCH, FENCED_INSTANCE = 110, 111, 113, 82
# What a commit is told when the group went with its last member; a member learns the rest from its heartbeat.
NO_GROUP = 69
REBALANCE_MS = 20_000


class Ledger:
    def __init__(self, desk):
        self.desk = desk
        self.consumers = []
        self.acknowledged = {}

    def on_held(self, holder, gained):
        """Whoever the group does not count among its members may think what it likes."""
        for other in self.consumers if self._is_member(holder) else ():
            if other is not holder and self._is_member(other):
                both = gained & other.held
                assert not both, f"{sorted(both)} is held by {other.name} and given to {holder.name}"

    def _is_member(self, consumer):
        group = self.desk.groups.table.groups.get(GROUP)
        return group is not None and consumer.member_id in (group.consumer or group.classic).members

    def on_committed(self, part, offset):
        self.acknowledged[part] = max(offset, self.acknowledged.get(part, -1))


class Base:
    def __init__(self, desk, ledger, name):
        self.desk = desk
        self.ledger = ledger
        self.name = name
        self.member_id = ""
        self.epoch = 0
        self.held = frozenset()
        self.turn = 0
        self.waits_for = None
        self.is_over = False
        ledger.consumers.append(self)

    def act(self):
        """One step: take an answer if there is one, or ask the next thing."""
        if self.is_over:
            return
        if self.waits_for is None:
            self.turn += 1
            self._ask_next()
            return
        ticket, on_answer = self.waits_for
        if ticket in self.desk.lost:
            self.waits_for = None
            self._on_lost()
        elif ticket in self.desk.answers:
            self.waits_for = None
            on_answer(self.desk.answers[ticket])

    def _ask(self, request, version, on_answer):
        self.waits_for = self.desk.ask(request, version, self.name), on_answer

    def _on_lost(self):
        pass

    def hold(self, parts):
        self.ledger.on_held(self, parts - self.held)
        self.held = parts

    def commit(self):
        if self.waits_for is None and self.held:
            part = sorted(self.held)[self.turn % len(self.held)]
            name = self.desk.groups.table.topics.names.get(part[0])
            if name is not None:
                offset = self.ledger.acknowledged.get(part, -1) + 1
                partition = OffsetCommitRequestPartition(part[1], offset)
                topics = [OffsetCommitRequestTopic(name, part[0], [partition])]
                request = OffsetCommitRequest(GROUP, self.epoch, self.member_id, topics=topics)
                self._ask(request, 9, lambda answer: self._on_committed(part, offset, answer))

    def _on_committed(self, part, offset, answer):
        code = answer.topics[0].partitions[0].error_code
        if code:
            self._on_error(code)
        else:
            self.ledger.on_committed(part, offset)


class NextConsumer(Base):
    """KIP-848. It gives up at its next turn what it should, and reports that it has at the one after."""

    def __init__(self, desk, ledger, name, instance_id=None):
        super().__init__(desk, ledger, name)
        self.member_id = name
        self.instance_id = instance_id
        self.topics = ["t"]
        self.target = frozenset()
        self.must_say_all = True

    @property
    def is_settled(self):
        return self.epoch > 0 and self.held == self.target

    def _ask_next(self):
        if not self.held <= self.target:
            self.held &= self.target
        elif self.turn % 4 == 3:
            self.commit()
        if self.waits_for is None:
            self._beat()

    def _beat(self):
        request = ConsumerGroupHeartbeatRequest(GROUP, self.member_id, self.epoch, self.instance_id)
        if self.must_say_all or not self.epoch:
            request.rebalance_timeout_ms = REBALANCE_MS
            request.subscribed_topic_names = self.topics
        if self.must_say_all or self.held != self.target or self.turn % 2:
            request.topic_partitions = to_wire(self.held)
        self.must_say_all = False
        self._ask(request, 1, self._on_beat)

    def _on_beat(self, answer):
        if answer.error_code:
            self._on_error(answer.error_code)
            return
        assert answer.member_epoch >= self.epoch
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.target = from_wire(answer.assignment.topic_partitions)
        if self.held <= self.target:
            self.hold(self.target)

    def _on_lost(self):
        self.must_say_all = True

    def _on_error(self, code):
        fenced = (FENCED_EPOCH, HELD_INSTANCE, STALE_EPOCH, FENCED_INSTANCE)
        assert code in (NOT_COORDINATOR, UNKNOWN_MEMBER, NO_GROUP, *fenced), code
        self.must_say_all = True
        if code in (UNKNOWN_MEMBER, FENCED_EPOCH):
            self.epoch, self.held, self.target = 0, frozenset(), frozenset()
        if code == FENCED_INSTANCE:
            self.is_over, self.held = True, frozenset()

    def leave(self, epoch=-1):
        self.held, self.is_over = frozenset(), True
        if self.epoch:
            self.desk.ask(ConsumerGroupHeartbeatRequest(GROUP, self.member_id, epoch, self.instance_id), 1)


class ClassicConsumer(Base):
    """Eager: it gives up everything before it joins. As a leader it looks after the number of partitions."""

    def __init__(self, desk, ledger, name):
        super().__init__(desk, ledger, name)
        self.epoch = -1
        self.is_joined = False
        self.shared_out = None

    @property
    def is_settled(self):
        return self.is_joined

    def _ask_next(self):
        if self.shared_out not in (None, self._count()):
            self.is_joined = False
        if not self.is_joined:
            self._join()
        elif self.turn % 4 == 3:
            self.commit()
        if self.waits_for is None:
            request = HeartbeatRequest(GROUP, self.epoch, self.member_id)
            self._ask(request, 4, lambda answer: self._on_error(answer.error_code))

    def _join(self):
        self.held = frozenset()
        said = (1).to_bytes(2, "big") + encoded(EmbeddedSubscription(["t"]), 1)
        request = join_request(self.member_id, protocols=protocols(range=said), rebalance_timeout_ms=REBALANCE_MS)
        self._ask(request, 9, self._on_joined)

    def _on_joined(self, answer):
        if answer.error_code == ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error_code:
            self._on_error(answer.error_code)
        else:
            self.member_id, self.epoch = answer.member_id, answer.generation_id
            self.shared_out = self._count() if answer.members else None
            shares = self._shares([each.member_id for each in answer.members])
            request = SyncGroupRequest(GROUP, self.epoch, self.member_id, assignments=shares)
            self._ask(request, 5, self._on_synced)

    def _count(self):
        return len(self.desk.topics["t"].partitions)

    def _shares(self, members):
        count = self._count()
        return [
            SyncGroupRequestAssignment(
                member_id,
                (1).to_bytes(2, "big")
                + encoded(EmbeddedAssignment([EmbeddedPartitions("t", list(range(count))[place :: len(members)])]), 1),
            )
            for place, member_id in enumerate(members)
        ]

    def _on_synced(self, answer):
        if answer.error_code:
            self._on_error(answer.error_code)
            return
        self.is_joined = True
        self.hold(
            read_assignment(answer.assignment, self.desk.groups.table.topics) if answer.assignment else frozenset()
        )

    def _on_error(self, code):
        if not code:
            return
        assert code in (NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, NO_GROUP), code
        self.is_joined = False
        if code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER, NO_GROUP):
            self.held = frozenset()
        if code == UNKNOWN_MEMBER:
            self.member_id = ""

    def leave(self):
        self.held, self.is_over = frozenset(), True
        if self.member_id:
            self.desk.ask(LeaveGroupRequest(GROUP, members=[MemberIdentity(self.member_id)]), 5)
