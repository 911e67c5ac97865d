"""Consumer groups of the next generation: joining, moving at one's own pace, leaving, and what is refused."""

import pytest
from desk import GROUP, Desk, topic_id
from next_members import Member, describe, heartbeat, join_all, parts, settle

from headrace.groups.consumer.group import ConsumerGroupState
from headrace.groups.consumer.records import MemberState
from headrace.groups.topics import all_in_sight
from headrace.wire.messages.groups_admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest


def sizes(*members):
    return sorted(len(member.owned) for member in members)


def test_the_first_member_gets_everything_at_once():
    desk = Desk()
    one = Member(desk, "one")
    answer = one.join()
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "one", 1)
    assert answer.heartbeat_interval_ms == 5_000
    assert one.owned == parts(*range(6))
    assert desk.consumer.state is ConsumerGroupState.STABLE


def test_nothing_is_said_again_that_is_known():
    desk = Desk()
    (one,) = join_all(desk, "one")
    assert one.beat(report=False).assignment is None
    assert one.beat().assignment is None
    records = len(desk.log)
    one.beat()
    assert len(desk.log) == records


def test_a_partition_is_given_only_after_it_was_given_up():
    desk = Desk()
    (one,) = join_all(desk, "one")
    two = Member(desk, "two")
    assert two.join().member_epoch == 2
    assert two.owned == frozenset()
    had = one.owned
    answer = one.beat()
    kept = one.owned
    assert (answer.member_epoch, len(kept)) == (1, 3)
    assert desk.consumer.current_of("one").state is MemberState.UNREVOKED_PARTITIONS
    two.beat()
    assert two.owned == frozenset()
    heartbeat(desk, "one", one.epoch, had)
    two.beat()
    assert two.owned == frozenset()
    assert one.beat().member_epoch == 2
    two.beat()
    assert two.owned == had - kept
    assert desk.consumer.state is ConsumerGroupState.STABLE


def test_states_on_the_way():
    desk = Desk()
    (one,) = join_all(desk, "one")
    # The last assignment was long ago, so this one is made at once, the next only a second later.
    two, three = Member(desk, "two"), Member(desk, "three")
    two.join()
    assert desk.consumer.state is ConsumerGroupState.RECONCILING
    three.join()
    assert desk.consumer.state is ConsumerGroupState.ASSIGNING
    assert (three.epoch, three.owned) == (2, frozenset())
    desk.pass_time(1)
    assert desk.consumer.state is ConsumerGroupState.RECONCILING
    settle(desk, one, two, three)
    assert desk.consumer.state is ConsumerGroupState.STABLE
    assert sizes(one, two, three) == [2, 2, 2]
    assert {member.epoch for member in (one, two, three)} == {3}


def test_a_hundred_members_cost_a_few_runs_of_the_assignor():
    desk = Desk()
    desk.set_topic("t", 1_000)
    members = [Member(desk, f"m{number:02}") for number in range(100)]
    for member in members:
        member.join()
    settle(desk, *members)
    assert sizes(*members) == [10] * 100
    assert desk.consumer.target_epoch == 100


def test_who_leaves_makes_room():
    desk = Desk()
    one, two = join_all(desk, "one", "two")
    assert two.leave().member_epoch == -1
    desk.pass_time(1)
    one.beat()
    assert one.owned == parts(*range(6))


def test_who_is_silent_is_taken_for_dead():
    desk = Desk()
    one, two = join_all(desk, "one", "two")
    for _ in range(10):
        desk.pass_time(5)
        one.beat()
    assert two.beat().error_code == 25
    assert one.owned == parts(*range(6))


def test_who_gives_nothing_up_in_time_is_removed():
    desk = Desk()
    (one,) = join_all(desk, "one")
    had = one.owned
    two = Member(desk, "two")
    two.join()
    for _ in range(13):
        desk.pass_time(5)
        heartbeat(desk, "one", 1, had)
        two.beat()
    assert heartbeat(desk, "one", 1, had).error_code == 25
    settle(desk, two)
    assert two.owned == parts(*range(6))


def test_a_lost_answer_is_given_again():
    desk = Desk()
    one, two = join_all(desk, "one", "two")
    two.leave()
    desk.pass_time(1)
    heartbeat(desk, "one", one.epoch, one.owned)
    answer = one.beat()
    assert (answer.error_code, one.owned) == (0, parts(*range(6)))
    one.epoch -= 1
    one.owned = frozenset()
    assert one.beat().assignment is not None


def test_wrong_epochs_are_fenced():
    desk = Desk()
    one, _two, three = join_all(desk, "one", "two", "three")
    assert heartbeat(desk, "one", one.epoch + 1, one.owned).error_code == 110
    assert heartbeat(desk, "one", one.epoch - 1).error_code == 110
    assert heartbeat(desk, "one", 1, three.owned).error_code == 110
    one.epoch = 0
    assert one.join().error_code == 0
    settle(desk, one)
    assert sizes(one) == [2]


def test_unknown_members_and_groups():
    desk = Desk()
    assert heartbeat(desk, "one", 3).error_code == 25
    join_all(desk, "one")
    assert heartbeat(desk, "two", 1).error_code == 25
    assert heartbeat(desk, "two", -1).error_code == 25
    assert heartbeat(desk, "two", -2, instance_id="i").error_code == 25


def test_requests_that_make_no_sense():
    desk = Desk()
    good = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": ["t"]}

    def code(member_id="m", epoch=0, owned=frozenset(), version=1, **fields):
        return heartbeat(desk, member_id, epoch, owned, version, **(good | fields)).error_code

    assert code(group_id="") == 42
    assert code("") == 42
    assert code("", version=0) == 0
    assert code(instance_id="") == 42
    assert code(rack_id="") == 42
    assert code(epoch=-3) == 42
    assert code(epoch=-2) == 42
    assert code(rebalance_timeout_ms=-1) == 42
    assert code(owned=None) == 42
    assert code(owned=parts(1)) == 42
    assert code(subscribed_topic_names=None) == 42
    assert code("x" * 9_000) == 42
    assert code(server_assignor="best") == 112
    assert code(subscribed_topic_regex="(") == 128
    assert code(subscribed_topic_regex="a" * 2_000) == 128


def test_full_groups():
    desk = Desk(consumer_max_size=1)
    (one,) = join_all(desk, "one")
    assert Member(desk, "two").join().error_code == 81
    assert one.join().error_code == 0


def test_an_old_client_is_given_its_id():
    desk = Desk()
    answer = heartbeat(desk, "", 0, frozenset(), 0, subscribed_topic_names=["t"], rebalance_timeout_ms=1)
    assert answer.error_code == 0
    assert heartbeat(desk, answer.member_id, answer.member_epoch).error_code == 0


# -- topics ----------------------------------------------------------------------------------------------------------


def test_new_partitions_are_shared_out():
    desk = Desk()
    one, two = join_all(desk, "one", "two")
    epoch = desk.consumer.epoch
    desk.set_topic("t", 10)
    settle(desk, one, two)
    assert sizes(one, two) == [5, 5]
    assert desk.consumer.epoch == epoch + 1


def test_topics_that_come_and_go():
    desk = Desk()
    (one,) = join_all(desk, "one", topics=("t", "u"))
    assert one.owned == parts(*range(6))
    desk.set_topic("u", 2)
    settle(desk, one)
    assert one.owned == parts(*range(6)) | parts(0, 1, topic="u")
    desk.set_topic("t", 0)
    settle(desk, one)
    assert one.owned == parts(0, 1, topic="u")
    desk.set_topic("u", 2, life=1)
    settle(desk, one)
    assert one.owned == {(topic_id("u", 1), 0), (topic_id("u", 1), 1)}


def test_topics_that_nobody_here_reads_change_nothing():
    desk = Desk()
    (one,) = join_all(desk, "one")
    epoch = desk.consumer.epoch
    desk.set_topic("other", 5)
    one.beat()
    assert desk.consumer.epoch == epoch


def test_subscriptions_by_expression():
    desk = Desk()
    desk.set_topic("orders-1", 2)
    desk.set_topic("__consumer_offsets", 50)
    (one,) = join_all(desk, "one", topics=(), subscribed_topic_regex=".*-[0-9]")
    assert one.owned == parts(0, 1, topic="orders-1")
    desk.set_topic("orders-2", 1)
    desk.set_topic("my-orders-2x", 1)
    settle(desk, one)
    assert one.owned == parts(0, 1, topic="orders-1") | parts(0, topic="orders-2")
    one.beat(subscribed_topic_regex=".*")
    settle(desk, one)
    # Internal topics are among them, as in Kafka.
    assert len(one.owned) == 6 + 50 + 2 + 1 + 1
    one.beat(subscribed_topic_regex="", subscribed_topic_names=["t"])
    settle(desk, one)
    assert one.owned == parts(*range(6))


def test_an_expression_matches_no_topic_that_its_member_may_not_know_of():
    desk = Desk()
    desk.set_topic("seen-1", 1)
    desk.set_topic("secret-1", 1)
    hidden = {"secret-1"}
    desk.sight = lambda name: name not in hidden
    (one,) = join_all(desk, "one", topics=(), subscribed_topic_regex="se.*")
    assert one.owned == parts(0, topic="seen-1")
    # A topic comes, and the rules are others: both are looked at when a member reports next.
    desk.set_topic("seen-2", 1)
    settle(desk, one)
    assert one.owned == parts(0, topic="seen-1") | parts(0, topic="seen-2")
    hidden = {"seen-1"}
    desk.set_topic("other", 1)
    settle(desk, one)
    assert one.owned == parts(0, topic="secret-1") | parts(0, topic="seen-2")


@pytest.mark.parametrize("another_leaves", [False, True])
def test_another_coordinator_assigns_no_topic_before_it_knows_who_may_know_of_it(another_leaves):
    desk = Desk()
    desk.set_topic("seen-1", 2)
    desk.set_topic("secret-1", 1)
    desk.sight = lambda name: name != "secret-1"
    one, two = join_all(desk, "one", "two", topics=(), subscribed_topic_regex="se.*")
    epoch = desk.consumer.epoch
    desk.reload()
    assert desk.consumer.epoch == epoch
    if another_leaves:
        # As a session that ends: nobody reports.
        desk.consumer.subscriptions.look_at(desk.groups.table.topics, None)
    assert desk.consumer.subscriptions.topics() == {"seen-1"}
    settle(desk, one, two)
    assert one.owned | two.owned == parts(0, 1, topic="seen-1")
    # What came meanwhile is found with the first report.
    desk.reload()
    desk.set_topic("seen-2", 1)
    settle(desk, one, two)
    assert one.owned | two.owned == parts(0, 1, topic="seen-1") | parts(0, topic="seen-2")


def test_members_of_other_rights_do_not_take_turns_in_moving_a_group():
    desk = Desk()
    desk.set_topic("secret", 1)
    one, two = join_all(desk, "one", "two", topics=(), subscribed_topic_regex="se.*")
    epoch = desk.consumer.epoch
    for each in (one, two, one, two):
        desk.sight = all_in_sight if each is one else lambda name: False
        each.beat()
    assert desk.consumer.epoch == epoch


def test_an_expression_that_would_hang_other_engines():
    desk = Desk()
    desk.set_topic("a" * 200, 1)
    (one,) = join_all(desk, "one", topics=(), subscribed_topic_regex="(a*)*b|(a|a)*c")
    assert one.owned == frozenset()


def test_members_with_different_wishes():
    desk = Desk()
    desk.set_topic("u", 4)
    one, two = Member(desk, "one"), Member(desk, "two", topics=("t", "u"))
    one.join()
    two.join()
    settle(desk, one, two)
    assert one.owned | two.owned == parts(*range(6)) | parts(*range(4), topic="u")
    assert parts(*range(4), topic="u") <= two.owned
    assert sizes(one, two) == [5, 5]


def test_the_range_assignor():
    desk = Desk()
    one, two = join_all(desk, "one", "two", server_assignor="range")
    assert (one.owned, two.owned) == (parts(0, 1, 2), parts(3, 4, 5))
    assert describe(desk)[0].assignor_name == "range"


# -- static members --------------------------------------------------------------------------------------------------


def test_a_static_member_that_comes_back_finds_its_partitions():
    desk = Desk()
    one = Member(desk, "one")
    two = Member(desk, "two", instance_id="i")
    one.join()
    two.join()
    settle(desk, one, two)
    epoch, had = desk.consumer.epoch, two.owned
    assert two.leave(-2).member_epoch == -2
    settle(desk, one)
    assert sizes(one) == [3]
    again = Member(desk, "two again", instance_id="i")
    assert again.join().error_code == 0
    assert (again.owned, desk.consumer.epoch) == (had, epoch)
    assert two.beat(instance_id="i").error_code == 82


def test_a_static_member_that_stays_away_loses_them():
    desk = Desk()
    one = Member(desk, "one")
    two = Member(desk, "two", instance_id="i")
    one.join()
    two.join()
    settle(desk, one, two)
    two.leave(-2)
    for _ in range(10):
        desk.pass_time(5)
        one.beat()
    assert one.owned == parts(*range(6))


def test_an_instance_id_in_use():
    desk = Desk()
    join_all(desk, "one", instance_id="i")
    assert Member(desk, "two", instance_id="i").join().error_code == 111


# -- fail-over -------------------------------------------------------------------------------------------------------


def test_another_coordinator_goes_on_where_the_last_one_was():
    desk = Desk()
    (one,) = join_all(desk, "one")
    two = Member(desk, "two")
    two.join()
    one.beat(report=False)
    desk.reload()
    settle(desk, one, two)
    assert sizes(one, two) == [3, 3]
    records = len(desk.log)
    desk.reload()
    one.beat()
    two.beat()
    assert len(desk.log) == records
    desk.reload()
    desk.pass_time(46)
    assert desk.consumer.state is ConsumerGroupState.EMPTY


def test_topics_that_changed_while_nobody_coordinated():
    desk = Desk()
    (one,) = join_all(desk, "one")
    desk.set_topic("t", 8)
    desk.reload()
    settle(desk, one)
    assert one.owned == parts(*range(8))


# -- what operators see ----------------------------------------------------------------------------------------------


def test_describe():
    desk = Desk()
    one, _ = join_all(desk, "one", "two")
    (found,) = describe(desk)
    assert (found.error_code, found.group_state, found.assignor_name) == (0, "Stable", "uniform")
    assert found.group_epoch == found.assignment_epoch == 2
    first = next(member for member in found.members if member.member_id == "one")
    assert (first.member_epoch, first.client_id, first.client_host) == (2, "c", "/127.0.0.1")
    assert (first.subscribed_topic_names, first.member_type) == (["t"], 1)
    (topic,) = first.assignment.topic_partitions
    assert (topic.topic_name, {(topic.topic_id, number) for number in topic.partitions}) == ("t", one.owned)
    assert first.target_assignment == first.assignment


def test_each_kind_is_described_by_its_own_request():
    desk = Desk()
    desk.stable(1)
    assert describe(desk, GROUP, "none")[0].error_code == 69
    desk = Desk()
    join_all(desk, "one")
    assert desk.answer(desk.ask(DescribeGroupsRequest([GROUP]), 6)).groups[0].error_code == 69

    def listed(**filters):
        groups = desk.answer(desk.ask(ListGroupsRequest(**filters), 5)).groups
        return [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in groups]

    row = (GROUP, "consumer", "Stable", "consumer")
    assert listed() == listed(types_filter=["Consumer"]) == listed(states_filter=["stable"]) == [row]
    assert listed(types_filter=["classic"]) == listed(states_filter=["Empty"]) == []


def test_delete_and_expire():
    desk = Desk()
    (one,) = join_all(desk, "one")

    def delete():
        return desk.answer(desk.ask(DeleteGroupsRequest([GROUP]), 2)).results[0].error_code

    assert delete() == 68
    desk.commit_offset(5, "one", one.epoch)
    one.leave()
    desk.run(desk.groups.expire(desk.now))
    assert desk.offset() == 5
    assert delete() == 0
    assert desk.groups.table.groups == {}

    desk = Desk(offsets_retention_ms=600_000)
    (one,) = join_all(desk, "one")
    desk.commit_offset(5, "one", one.epoch)
    desk.commit_offset(6, "one", one.epoch, topic="unread")
    for _ in range(21):
        desk.pass_time(30)
        one.beat()
    desk.run(desk.groups.expire(desk.now))
    assert (desk.offset(), desk.offset("unread")) == (5, -1)
    one.leave()
    desk.pass_time(599)
    desk.run(desk.groups.expire(desk.now))
    assert desk.offset() == 5
    desk.pass_time(2)
    desk.run(desk.groups.expire(desk.now))
    assert desk.groups.table.groups == {}
