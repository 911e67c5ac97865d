"""A group whose members change from one protocol to the other while it lives, and those that may not."""

import pytest
from desk import GROUP, Desk, join_request, protocols
from next_members import Member, describe, heartbeat, parts, settle

from headrace.groups.classic.embedded import read_assignment, write_assignment
from headrace.groups.classic.group import GroupState
from headrace.groups.consumer.group import ConsumerGroupState
from headrace.groups.topics import Topics
from headrace.wire.codec import encoded
from headrace.wire.messages.embedded import EmbeddedPartitions, EmbeddedSubscription


def subscription(desk, owned=(), topics=("t",)):
    named = {}
    for topic, number in sorted(owned):
        named.setdefault(desk.groups.table.topics.names[topic], []).append(number)
    said = EmbeddedSubscription(list(topics), b"", [EmbeddedPartitions(*each) for each in named.items()])
    return (1).to_bytes(2, "big") + encoded(said, 1)


class Classic:
    """A cooperative consumer: it keeps what it has while it joins."""

    def __init__(self, desk, instance_id=None):
        self.desk = desk
        self.member_id = ""
        self.instance_id = instance_id
        self.generation = -1
        self.owned = frozenset()
        self.leads = False

    def join(self):
        wish = protocols(sticky=subscription(self.desk, self.owned))
        ticket = self.desk.join(self.member_id, self.instance_id, protocols=wish)
        if not self.desk.is_parked(ticket) and self.desk.answer(ticket).error_code == 79:
            self.member_id = self.desk.answer(ticket).member_id
            return self.join()
        return ticket

    def joined(self, ticket):
        answer = self.desk.answer(ticket)
        assert answer.error_code == 0
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.leads = answer.leader == answer.member_id
        return answer

    def sync(self, shares=None):
        answer = self.desk.answer(self.desk.sync(self.member_id, self.generation, shares, self.instance_id))
        if answer.error_code == 0:
            self.owned = read_assignment(answer.assignment, self.desk.groups.table.topics)
        return answer.error_code

    def beat(self):
        return self.desk.heartbeat(self.member_id, self.generation, self.instance_id)

    def move(self):
        """As long as it is told to, in a consumer group."""
        for _ in range(6):
            if self.desk.consumer is not None and self.beat() == 27:
                self.joined(self.join())
                self.sync()


def classic_group(desk, count=2):
    members = [Classic(desk) for _ in range(count)]
    tickets = [member.join() for member in members]
    desk.pass_time(6)
    for member, ticket in zip(members, tickets, strict=True):
        member.joined(ticket)
    numbers = sorted(range(6))
    shares = {
        member.member_id: write_assignment(parts(*numbers[place::count]), desk.groups.table.topics, subscription(desk))
        for place, member in enumerate(members)
    }
    for member in sorted(members, key=lambda each: not each.leads):
        assert member.sync(shares if member.leads else None) == 0
    return members


def everyone_moves(desk, *members):
    for _ in range(5):
        desk.pass_time(1)
        for member in members:
            if isinstance(member, Classic):
                member.move()
            else:
                member.beat()


def mixed_group():
    """Two classic members and a new one, all with their share."""
    desk = Desk()
    one, two = classic_group(desk)
    new = Member(desk, "new")
    new.join()
    everyone_moves(desk, one, two, new)
    return desk, one, two, new


def owned(*members):
    return [sorted(number for _, number in member.owned) for member in members]


def check_shared_out(*members):
    assert sorted(number for each in owned(*members) for number in each) == list(range(6)), owned(*members)
    assert max(map(len, owned(*members))) - min(map(len, owned(*members))) <= 1


def test_upgrade_member_by_member():
    desk = Desk()
    one, two = classic_group(desk)
    assert desk.group.state is GroupState.STABLE
    new = Member(desk, "new")
    assert new.join().error_code == 0
    assert new.owned == frozenset()
    assert {member.member_type for member in describe(desk)[0].members} == {0, 1}
    assert one.beat() == 27
    everyone_moves(desk, one, two, new)
    check_shared_out(one, two, new)
    assert desk.consumer.state is ConsumerGroupState.STABLE
    desk.reload()
    everyone_moves(desk, one, two, new)
    check_shared_out(one, two, new)
    assert desk.leave((one.member_id, None)).members[0].error_code == 0
    newer = Member(desk, "newer")
    newer.join()
    everyone_moves(desk, two, new, newer)
    check_shared_out(two, new, newer)
    desk.leave((two.member_id, None))
    everyone_moves(desk, new, newer)
    check_shared_out(new, newer)


def test_no_partition_is_given_twice_on_the_way():
    desk = Desk()
    (one,) = classic_group(desk, 1)
    new = Member(desk, "new")
    new.join()
    had = one.owned
    one.joined(one.join())
    # It learns what it keeps, and still has the rest until it joins without it.
    assert one.sync() == 0
    new.beat()
    assert new.owned == frozenset()
    assert one.beat() == 27
    one.joined(one.join())
    new.beat()
    assert new.owned == had - one.owned


def test_downgrade_when_the_last_new_member_goes():
    desk, one, two, new = mixed_group()
    generation = one.generation
    new.leave()
    assert desk.consumer is None
    assert desk.group.state is GroupState.PREPARING_REBALANCE
    # Not an illegal generation: for that a client drops its partitions, or takes another id and leaves a ghost behind.
    assert (one.beat(), two.beat()) == (27, 27)
    tickets = [one.join(), two.join()]
    for member, ticket in zip((one, two), tickets, strict=True):
        assert member.joined(ticket).generation_id > generation
    assert one.leads or two.leads
    desk.reload()
    assert desk.consumer is None


def test_downgrade_while_somebody_is_a_step_behind():
    desk, one, two, new = mixed_group()
    newer = Member(desk, "newer")
    newer.join()
    one.move()
    assert one.generation > two.generation
    new.leave()
    newer.leave()
    assert desk.consumer is None
    assert (one.beat(), two.beat()) == (27, 27)
    former = two.generation
    for member, ticket in [(one, one.join()), (two, two.join())]:
        member.joined(ticket)
    assert desk.heartbeat(two.member_id, former) == 22
    assert two.beat() == 0


def test_downgrade_when_the_last_new_member_dies():
    desk = Desk()
    (one,) = classic_group(desk, 1)
    new = Member(desk, "new")
    new.join()
    for _ in range(12):
        everyone_moves(desk, one)
    assert desk.consumer is None


def test_new_classic_members_of_a_consumer_group():
    desk = Desk()
    new = Member(desk, "new")
    new.join()
    one = Classic(desk)
    one.joined(one.join())
    assert one.sync() == 0
    everyone_moves(desk, one, new)
    check_shared_out(one, new)


def test_members_that_wait_are_sent_to_join_anew():
    desk = Desk()
    one = Classic(desk)
    waits = one.join()
    new = Member(desk, "new")
    assert new.join().error_code == 0
    assert desk.answer(waits).error_code == 27
    one.joined(one.join())
    everyone_moves(desk, one, new)
    check_shared_out(one, new)


def test_what_classic_members_are_refused():
    desk = Desk()
    new = Member(desk, "new")
    new.join()
    one = Classic(desk)
    one.joined(one.join())

    def join_code(**fields):
        return desk.answer(desk.ask(join_request(**fields), 3)).error_code

    assert join_code(protocol_type="connect") == 23
    assert join_code(protocols=[]) == 23
    assert join_code(protocols=protocols(sticky=b"x")) == 23
    assert join_code(protocols=protocols(other=subscription(desk))) == 23
    assert desk.heartbeat("nobody", 1) == 25
    assert desk.heartbeat("new", 1) == 25
    assert desk.heartbeat(one.member_id, one.generation + 1) == 22
    assert desk.answer(desk.sync(one.member_id, one.generation + 1)).error_code == 22
    assert desk.answer(desk.sync(one.member_id, one.generation, protocol_name="x")).error_code == 23
    assert desk.commit_offset(1, one.member_id, one.generation + 1) == 22
    assert desk.commit_offset(1, one.member_id, one.generation) == 0


def test_classic_members_that_do_not_move_are_removed():
    desk = Desk()
    one, two = classic_group(desk)
    new = Member(desk, "new")
    new.join()
    for _ in range(65):
        desk.pass_time(1)
        one.move()
        assert two.beat() in (27, 25)
        new.beat()
    assert two.beat() == 25
    settle(desk, new)
    one.move()
    check_shared_out(one, new)


def test_a_static_member_changes_its_protocol():
    desk = Desk()
    one = Classic(desk, "i")
    ticket = one.join()
    desk.pass_time(6)
    one.joined(ticket)
    shares = {one.member_id: write_assignment(parts(*range(6)), desk.groups.table.topics, subscription(desk))}
    assert one.sync(shares) == 0
    new = Member(desk, "new", instance_id="i")
    assert new.join().error_code == 0
    assert (len(new.owned), len(desk.consumer.members)) == (6, 1)
    assert one.beat() == 82
    again = Classic(desk, "i")
    again.joined(again.join())
    assert desk.consumer is None
    assert new.beat(instance_id="i").error_code == 25


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_upgrades_that_are_not_allowed(policy):
    desk = Desk(consumer_migration_policy=policy)
    (one,) = classic_group(desk, 1)
    assert Member(desk, "new").join().error_code == 69
    assert one.beat() == 0
    desk.leave((one.member_id, None))
    assert Member(desk, "new").join().error_code == 0


def test_groups_of_other_protocols_are_not_upgraded():
    desk = Desk()
    desk.stable(1, protocol_type="connect")
    assert Member(desk, "new").join().error_code == 69


def test_an_upgrade_that_is_refused_changes_nothing():
    desk = Desk(consumer_max_size=1)
    (one,) = classic_group(desk, 1)
    records = len(desk.log)
    assert Member(desk, "new").join().error_code == 81
    assert (len(desk.log), one.beat()) == (records, 0)


def test_empty_groups_change_freely():
    desk = Desk(consumer_migration_policy="disabled")
    new = Member(desk, "new")
    new.join()
    new.leave()
    (one,) = classic_group(desk, 1)
    assert desk.consumer is None
    desk.leave((one.member_id, None))
    assert Member(desk, "newer").join().error_code == 0
    desk.reload()
    assert desk.group.stored is None
    assert heartbeat(desk, "newer", desk.consumer.epoch).error_code == 0


def test_embedded_assignments_of_topics_that_are_gone():
    topics = Topics({}, {})
    assert read_assignment(write_assignment(parts(1), topics, b"\x00\x03"), topics) == frozenset()
    assert GROUP
