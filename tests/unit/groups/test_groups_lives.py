"""Any order of joins, crashes, zombies, restarts, slow clients, held-back commits and coordinators that move.

At every moment: parked tickets are known, every wait has its timer, the log alone gives what is stored. After a calm:
one generation holds every live consumer and every partition, and no acknowledged offset is lost.
"""

import pytest
from consumers import PARTITIONS, Consumer, Ledger
from desk import GROUP, Desk
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.groups.classic.group import GroupState
from headrace.groups.classic.records import GroupRecord
from headrace.groups.coordinator import Groups
from headrace.groups.records import decode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

CONSUMERS_MAX = 6
CALM_S = 900
WHO = st.integers(0, CONSUMERS_MAX - 1)


class Lives(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.desk = Desk()
        self.desk.lost = set()
        self.ledger = Ledger()
        self.consumers = []
        self.zombies = []
        self.started = 0
        self.stale = set()

    def _pick(self, who, among=None):
        among = self.consumers if among is None else among
        return among[who % len(among)] if among else None

    # -- consumers ---------------------------------------------------------------------------------------------------

    @initialize(instances=st.lists(st.sampled_from([None, "a", "b"]), min_size=1, max_size=4))
    def begin(self, instances):
        for instance in instances:
            self.start(instance, 9)

    @precondition(lambda self: len(self.consumers) < CONSUMERS_MAX)
    @rule(instance=st.sampled_from([None, None, "a", "b"]), version=st.sampled_from([3, 5, 9]))
    def start(self, instance, version):
        if instance is not None:
            version = max(version, 5)
            for former in [each for each in self.consumers if each.instance_id == instance]:
                self.consumers.remove(former)
                former.is_zombie = True
                self.zombies.append(former)
        self.started += 1
        self.consumers.append(Consumer(self.desk, self.ledger, f"c{self.started}", instance, version))

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

    @rule(who=WHO)
    def zombie_acts(self, who):
        zombie = self._pick(who, self.zombies)
        if zombie:
            zombie.commit()
            zombie.act()

    @rule(who=WHO)
    def commit_offset(self, who):
        consumer = self._pick(who)
        for _ in range(3 if consumer else 0):
            consumer.commit()
            consumer.act()

    @rule(who=WHO)
    def request_of_an_earlier_generation_arrives(self, who):
        consumer = self._pick(who)
        if consumer and consumer.generation > 1:
            part = OffsetCommitRequestPartition(0, 0)
            topics = [OffsetCommitRequestTopic("t", partitions=[part])]
            request = OffsetCommitRequest(GROUP, consumer.generation - 1, consumer.member_id, topics=topics)
            self.stale.add(self.desk.ask(request, 8))

    @rule(who=WHO)
    def subscribe_anew(self, who):
        consumer = self._pick(who)
        if consumer and consumer.waits_for is None:
            consumer.topics = ("t", f"other-{len(consumer.topics)}")
            consumer.partitions = None

    @precondition(lambda self: len(self.consumers) > 1)
    @rule(who=WHO)
    def crash(self, who):
        consumer = self._pick(who)
        if consumer:
            self.consumers.remove(consumer)

    @precondition(lambda self: len(self.consumers) > 1)
    @rule(who=WHO)
    def leave(self, who):
        consumer = self._pick(who)
        if consumer and consumer.member_id:
            self.consumers.remove(consumer)
            consumer.leave()

    # -- the coordinator ---------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.1, 1, 1, 3, 3, 7, 11, 70, 400]))
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
        self.generations_rise()
        self.the_log_gives_what_is_stored()
        desk = self.desk
        desk.log = desk.log[: desk.high_watermark + kept]
        desk.lost |= set(range(1, desk.tickets + 1)) - desk.answers.keys()
        desk.high_watermark = len(desk.log)
        desk.reload()

    # -- what must hold ----------------------------------------------------------------------------------------------

    @property
    def group(self):
        group = self.desk.groups.table.groups.get(GROUP)
        return None if group is None else group.classic

    @invariant()
    def no_ticket_is_forgotten(self):
        asked = set(range(1, self.desk.tickets + 1))
        parked = {reply.ticket for _, reply in self.desk.held}
        if self.group is not None:
            parked |= {each.ticket for each in self.group.parked_syncs.values()}
            if self.group.join_phase is not None:
                parked |= {each.ticket for each in self.group.join_phase.tickets.values()}
        assert asked - self.desk.answers.keys() - self.desk.lost == parked

    @invariant()
    def every_wait_has_its_timer(self):
        group, expected = self.group, set()
        if group is not None:
            expected |= {group.session_timer(each) for each in group.members}
            expected |= {group.pending_timer(each) for each in group.pending}
            if group.join_phase is not None:
                expected.add(group.join_timer)
            if group.unsynced:
                expected.add(group.sync_timer)
            assert group.sessions.keys() == group.members.keys()
            assert (
                group.join_phase is not None
                or not group.stored
                or group.stored.members == tuple(group.members.values())
            )
        assert self.desk.timers.keys() == expected

    def generations_rise(self):
        generation = 0
        for record in (decode(*entry) for entry in self.desk.log):
            if isinstance(record, GroupRecord):
                begins = record.value.awaits_assignment or not record.value.members
                assert record.value.generation == generation + begins
                generation = record.value.generation

    def the_log_gives_what_is_stored(self):
        replayed = Groups(self.desk.settings)
        for entry in self.desk.log:
            replayed.apply(decode(*entry))
        live, again = self.desk.groups.table.groups.get(GROUP), replayed.table.get(GROUP)
        if again is None:
            assert live is None or (live.classic.stored is None and not live.offsets.topics)
        else:
            assert (live.classic.stored, live.offsets.topics) == (again.classic.stored, again.offsets.topics)

    def teardown(self):
        self.replicas_catch_up()
        for _ in range(CALM_S):
            if self._is_settled():
                break
            self._work()
            self.desk.pass_time(1)
        assert self._is_settled(), (self.group and self.group.state, [vars(each) for each in self.consumers])
        for _ in range(10):
            self._work()
            self.desk.pass_time(1)
        assert self._is_settled(), "a settled group moved by itself"
        self.every_wait_has_its_timer()
        self.no_ticket_is_forgotten()
        self.generations_rise()
        self.the_log_gives_what_is_stored()
        for answer in (self.desk.answers[ticket] for ticket in self.stale - self.desk.lost):
            assert answer.topics[0].partitions[0].error_code in (22, 25)
        for partition, offset in self.ledger.acknowledged.items():
            assert self.desk.offset("t", partition) >= offset

    def _is_settled(self):
        group = self.group
        if not self.consumers:
            return group is None or group.state is GroupState.EMPTY
        owned = sorted(each for consumer in self.consumers for each in consumer.partitions or ())
        return (
            group is not None
            and group.state is GroupState.STABLE
            and {consumer.generation for consumer in self.consumers} == {group.generation}
            and {consumer.member_id for consumer in self.consumers} == set(group.members)
            and all(consumer.is_settled for consumer in self.consumers)
            and owned == list(PARTITIONS)
        )


TestLives = pytest.mark.timeout(600)(Lives.TestCase)
TestLives.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
