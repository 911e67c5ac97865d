"""Any order of joins, crashes, restarts, slow members, topics that grow, held-back commits and coordinators that move,
with members of both protocols.

At every moment a partition has one owner (who has it and has not given it up), epochs only rise, every wait has its timer
and the log alone gives what is stored. After a calm everyone is settled, evenly, and no acknowledged offset is lost.
"""

import pytest
from desk import GROUP, Desk
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from next_consumers import ClassicConsumer, Ledger, NextConsumer

from headrace.groups.classic.group import GroupState
from headrace.groups.consumer.group import ConsumerGroupState
from headrace.groups.consumer.records import GroupEpochRecord, MemberState
from headrace.groups.coordinator import Groups
from headrace.groups.records import decode

CONSUMERS_MAX = 6
PARTITIONS_MAX = 9
CALM_S = 400
WHO = st.integers(0, CONSUMERS_MAX - 1)


class NextLives(RuleBasedStateMachine):
    kinds = ("next",)

    def __init__(self):
        super().__init__()
        self.desk = Desk(consumer_session_timeout_ms=10_000)
        self.desk.lost = set()
        self.ledger = Ledger(self.desk)
        self.consumers = []
        self.started = 0

    def _pick(self, who):
        return self.consumers[who % len(self.consumers)] if self.consumers else None

    # -- consumers ---------------------------------------------------------------------------------------------------

    @initialize(count=st.integers(1, 3), kind=st.sampled_from([0, 1]))
    def begin(self, count, kind):
        for _ in range(count):
            self.start(kind, None)

    @precondition(lambda self: len(self.consumers) < CONSUMERS_MAX)
    @rule(kind=st.sampled_from([0, 1]), instance=st.sampled_from([None, None, "a", "b"]))
    def start(self, kind, instance):
        self.started += 1
        name = f"c{self.started}"
        if self.kinds[kind % len(self.kinds)] == "classic":
            self.consumers.append(ClassicConsumer(self.desk, self.ledger, name))
            return
        if any(getattr(each, "instance_id", None) == instance for each in self.consumers if instance):
            return
        self.consumers.append(NextConsumer(self.desk, self.ledger, name, instance))

    @rule(who=WHO, times=st.integers(1, 4))
    def act(self, who, times):
        consumer = self._pick(who)
        for _ in range(times if consumer else 0):
            consumer.act()

    @rule(times=st.integers(1, 8))
    def all_act(self, times):
        for _ in range(times):
            for consumer in self.consumers:
                consumer.act()

    @rule(seconds=st.integers(1, 20), idle=WHO)
    def work(self, seconds, idle):
        """All but perhaps one go about their work."""
        for _ in range(seconds):
            self._work(idle)
            self.desk.pass_time(1)

    def _work(self, idle=-1):
        for _ in range(4):
            for index, consumer in enumerate(self.consumers):
                if index != idle:
                    consumer.act()

    @precondition(lambda self: len(self.consumers) > 1)
    @rule(who=WHO)
    def crash(self, who):
        """Nobody hears of it again; what it held nobody reads."""
        consumer = self._pick(who)
        consumer.is_over, consumer.held = True, frozenset()
        self.consumers.remove(consumer)

    @precondition(lambda self: len(self.consumers) > 1)
    @rule(who=WHO)
    def leave(self, who):
        consumer = self._pick(who)
        self.consumers.remove(consumer)
        consumer.leave()

    @rule(who=WHO)
    def restart(self, who):
        """A static member says that it will be back, and is."""
        consumer = self._pick(who)
        instance = getattr(consumer, "instance_id", None)
        if instance is not None:
            self.consumers.remove(consumer)
            consumer.leave(-2)
            self.start(self.kinds.index("next"), instance)

    @rule(who=WHO)
    def subscribe_anew(self, who):
        consumer = self._pick(who)
        if isinstance(consumer, NextConsumer):
            consumer.topics = ["t", "u"] if consumer.topics == ["t"] else ["t"]
            consumer.must_say_all = True

    @precondition(lambda self: len(self.desk.topics["t"].partitions) < PARTITIONS_MAX)
    @rule()
    def partitions_are_added(self):
        self.desk.set_topic("t", len(self.desk.topics["t"].partitions) + 1)

    @rule(count=st.integers(0, 2))
    def the_other_topic_comes_or_goes(self, count):
        self.desk.set_topic("u", count)

    # -- the coordinator ---------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.1, 1, 1, 3, 3, 7, 11, 70]))
    def time_passes(self, seconds):
        self.desk.pass_time(seconds)

    @rule()
    def replicas_lag(self):
        self.desk.commits_at_once = False

    @rule()
    def replicas_catch_up(self):
        self.desk.commits_at_once = True
        self.desk.commit()

    @rule(kept=st.integers(0, 3))
    def coordinator_moves(self, kept):
        self.the_log_gives_what_is_stored()
        desk = self.desk
        # A batch is kept whole or not at all.
        ends = [0, *desk.batch_ends]
        end = next((each for each in ends if each >= desk.high_watermark + kept), ends[-1])
        desk.log, desk.batch_ends = desk.log[:end], [each for each in desk.batch_ends if each <= end]
        desk.lost |= set(range(1, desk.tickets + 1)) - desk.answers.keys()
        desk.high_watermark = len(desk.log)
        desk.reload()

    # -- what must hold ----------------------------------------------------------------------------------------------

    @property
    def group(self):
        return self.desk.groups.table.groups.get(GROUP)

    @invariant()
    def owners_are_who_was_told(self):
        if self.group is None or self.group.consumer is None:
            return
        consumer = self.group.consumer
        told = [
            (part, member_id)
            for member_id, current in consumer.current.items()
            for part in (*current.assigned, *current.revoking)
        ]
        assert len(told) == len(consumer.owners) and dict(told) == consumer.owners
        assert consumer.current.keys() <= consumer.members.keys()
        assert consumer.target.keys() <= consumer.members.keys()
        assert all(current.epoch <= consumer.target_epoch for current in consumer.current.values())
        assert consumer.target_epoch <= consumer.epoch

    @invariant()
    def every_wait_has_its_timer(self):
        if self.group is None or self.group.consumer is None:
            return
        group, timers = self.group.consumer, self.desk.timers
        assert group.sessions.keys() == group.members.keys()
        expected = {group.session_timer(each) for each in group.members}
        expected |= {group.revocation_timer(each) for each in group.revocation_ends}
        expected |= {group.awaited_join_timer(each) for each in group.awaited_joins}
        expected |= {group.awaited_sync_timer(each) for each in group.awaited_syncs}
        if group.assign_timer_at is not None:
            expected.add(group.assign_timer)
        assert timers.keys() == expected
        unrevoked = {
            member_id
            for member_id, current in group.current.items()
            if current.state is MemberState.UNREVOKED_PARTITIONS
        }
        assert group.revocation_ends.keys() == unrevoked
        assert not group.members or group.epoch == group.target_epoch or group.assign_timer_at is not None

    @invariant()
    def no_ticket_is_forgotten(self):
        asked = set(range(1, self.desk.tickets + 1))
        parked = {reply.ticket for _, reply in self.desk.held}
        if self.group is not None:
            classic = self.group.classic
            parked |= {each.ticket for each in classic.parked_syncs.values()}
            if classic.join_phase is not None:
                parked |= {each.ticket for each in classic.join_phase.tickets.values()}
        assert asked - self.desk.answers.keys() - self.desk.lost == parked

    def the_log_gives_what_is_stored(self):
        replayed = Groups(self.desk.settings)
        epoch = 0
        for entry in self.desk.log:
            record = decode(*entry)
            if isinstance(record, GroupEpochRecord):
                assert record.value is None or record.value.epoch > epoch
                epoch = 0 if record.value is None else record.value.epoch
            replayed.apply(record)
        assert _stored(self.group) == _stored(replayed.table.get(GROUP))

    def teardown(self):
        self.replicas_catch_up()
        for _ in range(CALM_S):
            if self._is_settled():
                break
            self._work()
            self.desk.pass_time(1)
        assert self._is_settled(), [vars(each) for each in self.consumers]
        for _ in range(10):
            self._work()
            self.desk.pass_time(1)
        assert self._is_settled(), "a settled group moved by itself"
        self.the_log_gives_what_is_stored()
        for (topic_id, number), offset in self.ledger.acknowledged.items():
            name = self.desk.groups.table.topics.names.get(topic_id)
            if name is not None:
                assert self.desk.offset(name, number) >= offset

    def _is_settled(self):
        group = self.group
        if group is None or not all(each.is_settled for each in self.consumers):
            return False
        members = (group.consumer or group.classic).members
        held = [each.held for each in self.consumers]
        return (
            set(members) == {each.member_id for each in self.consumers}
            and (group.classic.state is GroupState.STABLE or self._is_stable(group.consumer))
            and sorted(part for each in held for part in each) == sorted(self._wanted())
            and (any(self._wishes() ^ {("t",)}) or max(map(len, held)) - min(map(len, held)) <= 1)
        )

    def _is_stable(self, consumer):
        if consumer is None or consumer.state is not ConsumerGroupState.STABLE:
            return False
        return all(current.epoch == consumer.epoch for current in consumer.current.values())

    def _wishes(self):
        return {tuple(getattr(each, "topics", ["t"])) for each in self.consumers}

    def _wanted(self):
        names = {name for wish in self._wishes() for name in wish if name in self.desk.topics}
        return [(self.desk.topics[name].id, number) for name in names for number in self.desk.topics[name].partitions]


def _stored(group):
    if group is None:
        return None
    consumer = group.consumer
    kept = consumer and (consumer.stored, consumer.members, consumer.target_epoch, consumer.target, consumer.current)
    stored = kept and (*kept, consumer.owners, consumer.member_id_of_instance)
    if not stored and group.classic.stored is None and not group.offsets.topics:
        return None
    return stored, group.classic.stored, group.offsets.topics


class MixedLives(NextLives):
    kinds = ("classic", "next")


TestNextLives = pytest.mark.timeout(600)(NextLives.TestCase)
TestNextLives.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
TestMixedLives = pytest.mark.timeout(600)(MixedLives.TestCase)
TestMixedLives.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
