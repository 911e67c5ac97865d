"""Who may join, and how a group comes together."""

from desk import GROUP, Desk, protocols, subscription

from headrace.groups.classic.group import GroupState
from headrace.groups.classic.members import topics_of


def code_of_join(desk, *args, **fields):
    return desk.answer(desk.join(*args, **fields)).error_code


def test_join_refuses_what_cannot_be():
    desk = Desk()
    assert code_of_join(desk, group_id="") == 24
    assert code_of_join(desk, session_timeout_ms=5_999) == 26
    assert code_of_join(desk, session_timeout_ms=30 * 60_000 + 1) == 26
    assert code_of_join(desk, protocol_type="") == 23
    assert code_of_join(desk, protocols=[]) == 23
    assert code_of_join(desk, "nobody") == 25
    assert desk.groups.table.groups == {}


def test_names_that_an_older_client_could_not_be_told_are_refused():
    desk = Desk()
    assert code_of_join(desk, group_id="g" * 8_001) == 24
    assert code_of_join(desk, instance_id="i" * 8_001) == 42
    assert code_of_join(desk, protocols=protocols(**{"p" * 8_001: b""})) == 42
    assert code_of_join(desk, protocol_type="p" * 8_001) == 42
    assert desk.groups.table.groups == {}
    assert code_of_join(desk, group_id="𐍈" * 8_000) == 79


def test_a_refused_join_says_no_protocol_as_its_version_does():
    desk = Desk()
    assert desk.answer(desk.join("nobody", version=6)).protocol_name == ""
    assert desk.answer(desk.join("nobody", version=7)).protocol_name is None


def test_a_dynamic_member_is_given_its_id_first():
    desk = Desk()
    first = desk.answer(desk.join(client_id="app"))
    assert (first.error_code, first.member_id) == (79, "app-1")
    assert desk.group.state is GroupState.EMPTY
    ticket = desk.join(first.member_id)
    assert desk.is_parked(ticket)
    desk.pass_time(3)
    answer = desk.answer(ticket)
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, "app-1")
    assert [(each.member_id, each.metadata) for each in answer.members] == [("app-1", subscription("t"))]
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


def test_before_version_4_nobody_is_asked_to_come_again():
    desk = Desk()
    ticket = desk.join(version=3, client_id="old")
    desk.pass_time(3)
    assert desk.answer(ticket).member_id == "old-1"


def test_an_id_that_is_not_used_lapses_with_its_session():
    desk = Desk()
    member_id = desk.answer(desk.join()).member_id
    desk.pass_time(9.9)
    assert member_id in desk.group.pending
    desk.pass_time(0.2)
    assert desk.groups.table.groups == {}
    assert code_of_join(desk, member_id) == 25


def test_an_id_handed_out_cannot_take_a_static_place():
    desk = Desk()
    desk.stable(instance_ids=["a"])
    member_id = desk.answer(desk.join()).member_id
    assert code_of_join(desk, member_id, "a") == 82
    assert code_of_join(desk, member_id, "b") == 25


def test_the_first_members_wait_for_others_and_no_longer_than_the_rebalance_timeout():
    desk = Desk()
    _, first = desk.new_member(rebalance_timeout_ms=10_000)
    tickets = [first]
    for _ in range(3):
        desk.pass_time(2.9)
        assert desk.is_parked(first)
        tickets.append(desk.new_member(rebalance_timeout_ms=10_000)[1])
    desk.pass_time(1.2)
    desk.new_member(rebalance_timeout_ms=10_000)
    desk.pass_time(0.2)
    # 3 + 3 + 3 + 1 s after the first came.
    assert {desk.answer(ticket).generation_id for ticket in tickets} == {1}
    assert sum(len(desk.answer(ticket).members) for ticket in tickets) == 5


def test_without_a_delay_the_first_member_is_answered_at_once():
    desk = Desk(group_initial_rebalance_delay_ms=0)
    _, ticket = desk.new_member()
    assert desk.answer(ticket).generation_id == 1


def test_fifty_members_join_at_once():
    desk = Desk()
    ids, generation = desk.stable(50)
    assert generation == 1
    assert set(desk.group.members) == set(ids)
    assert desk.group.members[ids[7]].assignment == f"share of {ids[7]}".encode()


def test_a_newcomer_waits_until_all_have_come_again():
    desk = Desk()
    (one, two), generation = desk.stable(2)
    three, newcomer = desk.new_member()
    assert desk.heartbeat(one, generation) == 27
    again = [desk.join(one), desk.join(two)]
    answers = [desk.answer(ticket) for ticket in (*again, newcomer)]
    assert [answer.generation_id for answer in answers] == [generation + 1] * 3
    assert [answer.leader for answer in answers] == [one] * 3
    assert [each.member_id for each in answers[0].members] == [one, two, three]
    assert answers[1].members == answers[2].members == []


def test_a_rebalance_waits_for_ids_that_were_handed_out():
    desk = Desk()
    (one,), _ = desk.stable(1)
    late = desk.answer(desk.join()).member_id
    ticket = desk.join(one)
    assert desk.is_parked(ticket)
    also = desk.join(late)
    assert desk.answer(ticket).generation_id == desk.answer(also).generation_id == 2


def test_a_rebalance_goes_on_when_an_id_handed_out_lapses():
    desk = Desk()
    (one,), _ = desk.stable(1)
    desk.join()
    ticket = desk.join(one)
    desk.pass_time(9.9)
    assert desk.is_parked(ticket)
    desk.pass_time(0.2)
    assert desk.answer(ticket).generation_id == 2


def test_who_does_not_come_in_time_is_dropped():
    desk = Desk()
    (one, two), generation = desk.stable(2, session_timeout_ms=100_000)
    ticket = desk.join(one, session_timeout_ms=100_000)
    desk.pass_time(59)
    assert desk.is_parked(ticket)
    desk.pass_time(2)
    assert [each.member_id for each in desk.answer(ticket).members] == [one]
    assert desk.heartbeat(two, generation) == 25


def test_another_leader_is_taken_when_the_old_one_does_not_come():
    desk = Desk()
    (one, two), _ = desk.stable(2)
    desk.leave((one, None))
    ticket = desk.join(two)
    assert desk.answer(ticket).leader == two


def test_a_follower_that_wants_the_same_gets_its_generation_again():
    desk = Desk()
    (_one, two), generation = desk.stable(2)
    answer = desk.answer(desk.join(two))
    assert (answer.generation_id, answer.members) == (generation, [])
    assert desk.group.state is GroupState.STABLE


def test_a_leader_that_comes_again_or_a_changed_wish_rebalances():
    for who, wish in ((0, "t"), (1, "other")):
        desk = Desk()
        ids, _ = desk.stable(2)
        ticket = desk.join(ids[who], protocols=protocols(range=subscription(wish)))
        assert desk.is_parked(ticket)
        assert desk.group.state is GroupState.PREPARING_REBALANCE


def test_after_a_lost_answer_the_generation_is_told_again():
    desk = Desk()
    member_id, _ = desk.new_member()
    desk.pass_time(3)
    assert desk.group.state is GroupState.COMPLETING_REBALANCE
    answer = desk.answer(desk.join(member_id))
    assert (answer.generation_id, len(answer.members)) == (1, 1)


def test_joining_twice_answers_the_first_request_too():
    desk = Desk()
    (one, _), generation = desk.stable(2)
    first = desk.join(one)
    second = desk.join(one)
    assert desk.answer(first).error_code == 27
    assert desk.is_parked(second)
    assert desk.heartbeat(one, generation) == 27


def test_protocols_must_have_one_in_common():
    desk = Desk()
    desk.new_member(protocols=protocols(range=b"", sticky=b""))
    assert code_of_join(desk, protocols=protocols(roundrobin=b"")) == 23
    assert code_of_join(desk, protocol_type="connect") == 23
    assert code_of_join(desk, protocols=protocols(sticky=b"")) == 79


def test_the_protocol_is_chosen_by_votes_among_the_common_ones():
    desk = Desk()
    wishes = [("a", "b", "c"), ("b", "c"), ("c", "b"), ("b", "a", "c")]
    tickets = [desk.new_member(protocols=protocols(**{name: name.encode() for name in wish}))[1] for wish in wishes]
    desk.pass_time(6)
    answers = [desk.answer(ticket) for ticket in tickets]
    assert {answer.protocol_name for answer in answers} == {"b"}
    assert {each.metadata for each in answers[0].members} == {b"b"}


def test_a_full_group_takes_no_more():
    desk = Desk(group_max_size=2)
    ids, _ = desk.stable(2)
    assert code_of_join(desk) == 81
    assert code_of_join(desk, ids[1]) == 0


def test_a_group_shrinks_to_a_lower_limit_when_it_is_loaded():
    desk = Desk()
    ids, _ = desk.stable(3)
    desk.settings = desk.settings._replace(group_max_size=2)
    desk.reload()
    assert desk.group.state is GroupState.PREPARING_REBALANCE
    tickets = [desk.join(each) for each in ids]
    assert [desk.answer(ticket).error_code for ticket in tickets] == [0, 0, 81]
    assert set(desk.group.members) == set(ids[:2])


def test_a_newcomer_that_waits_too_long_is_let_go():
    desk = Desk()
    (one,), generation = desk.stable(1, rebalance_timeout_ms=3_600_000)
    _, ticket = desk.new_member(rebalance_timeout_ms=3_600_000)
    for _ in range(299):
        desk.pass_time(1)
        assert desk.heartbeat(one, generation) == 27
    assert desk.is_parked(ticket)
    desk.pass_time(2)
    assert desk.answer(ticket).error_code == 25


def test_version_0_takes_the_session_timeout_for_rebalances():
    desk = Desk()
    ticket = desk.join(version=0, rebalance_timeout_ms=-1, session_timeout_ms=7_000)
    desk.pass_time(3)
    assert desk.answer(ticket).error_code == 0
    assert desk.group.rebalance_timeout == 7


def test_an_empty_group_may_change_its_type():
    desk = Desk()
    (one,), _ = desk.stable(1)
    desk.leave((one, None))
    assert desk.group.protocol_type == "consumer"
    _, ticket = desk.new_member(protocol_type="connect")
    desk.pass_time(3)
    answer = desk.answer(ticket)
    assert (answer.protocol_type, answer.generation_id) == ("connect", 3)


def test_groups_do_not_touch_each_other():
    desk = Desk()
    desk.stable(2)
    other = desk.answer(desk.join(group_id="other"))
    desk.join(other.member_id, group_id="other")
    assert desk.group.state is GroupState.STABLE
    assert desk.groups.table.groups["other"].classic.group_id != GROUP


def test_topics_of_a_subscription():
    assert topics_of(subscription("a", "b")) == {"a", "b"}
    assert topics_of(subscription()) == set()
    for broken in (
        b"",
        b"\x00",
        subscription("abc")[:8],
        b"\x00\x01\x7f\xff\xff\xff",
        b"\x00\x01\x00\x00\x00\x01\xff\xf0",
    ):
        assert topics_of(broken) is None
