"""Static members: they keep their place over a restart."""

from desk import Desk, protocols, subscription

from headrace.groups.classic.group import GroupState


def test_a_static_member_needs_no_second_step():
    desk = Desk()
    ticket = desk.join(instance_id="a")
    desk.pass_time(3)
    answer = desk.answer(ticket)
    assert (answer.error_code, answer.members[0].group_instance_id) == (0, "a")


def test_a_restart_in_a_stable_group_goes_unnoticed():
    desk = Desk()
    (one, two), generation = desk.stable(instance_ids=["a", "b"])
    answer = desk.answer(desk.join(instance_id="b"))
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, generation, one)
    assert answer.member_id != two
    assert desk.answer(desk.sync(answer.member_id, generation)).assignment == f"share of {two}".encode()
    assert desk.heartbeat(one, generation) == 0
    assert desk.heartbeat(two, generation, "b") == 82
    assert desk.heartbeat(two, generation) == 25
    desk.reload()
    assert desk.heartbeat(answer.member_id, generation, "b") == 0


def test_a_leader_that_restarts_must_not_assign_again():
    desk = Desk()
    (one, _), generation = desk.stable(instance_ids=["a", "b"])
    before_9 = desk.answer(desk.join(instance_id="a", version=8))
    assert (before_9.leader, before_9.members) == (one, [])
    since_9 = desk.answer(desk.join(instance_id="a", version=9))
    assert since_9.leader == since_9.member_id
    assert since_9.skip_assignment
    assert [each.group_instance_id for each in since_9.members] == ["a", "b"]
    assert since_9.generation_id == generation


def test_a_restart_that_changes_the_protocol_rebalances():
    desk = Desk()
    both = protocols(range=subscription("t"), sticky=subscription("t"))
    desk.stable(instance_ids=["a", "b"], protocols=both)
    ticket = desk.join(instance_id="b", protocols=protocols(sticky=subscription("t")))
    assert desk.is_parked(ticket)
    assert desk.group.state is GroupState.PREPARING_REBALANCE


def test_a_restart_while_the_assignment_is_made_rebalances_and_keeps_the_leader():
    desk = Desk()
    tickets = [desk.join(instance_id=each) for each in "ab"]
    desk.pass_time(6)
    one, two = (desk.answer(ticket).member_id for ticket in tickets)
    waits = desk.sync(two, 1)
    again = desk.join(instance_id="a")
    assert desk.answer(waits).error_code == 27
    desk.join(two)
    assert desk.answer(again).leader == desk.answer(again).member_id != one


def test_the_former_self_is_fenced_where_it_waits():
    desk = Desk()
    (one, two), _ = desk.stable(instance_ids=["a", "b"])
    joining = desk.join(one)
    again = desk.join(instance_id="a")
    assert desk.answer(joining).error_code == 82
    third = desk.join(two)
    assert desk.answer(again).generation_id == 2
    syncing = desk.sync(two, 2)
    desk.join(instance_id="b")
    assert desk.answer(syncing).error_code == 82
    assert desk.answer(third).error_code == 0


def test_a_static_member_is_fenced_and_not_mistaken():
    desk = Desk()
    (one, two), generation = desk.stable(instance_ids=["a", "b"])
    assert desk.answer(desk.join(one, "b")).error_code == 82
    assert desk.answer(desk.join(one, "c")).error_code == 25
    assert desk.answer(desk.sync(one, generation, instance_id="b")).error_code == 82
    assert desk.commit_offset(1, two, generation, group_instance_id="a") == 82


def test_a_static_member_that_does_not_come_stays_until_its_session_ends():
    desk = Desk()
    (one, two), _ = desk.stable(instance_ids=["a", "b"], session_timeout_ms=90_000, rebalance_timeout_ms=20_000)
    ticket = desk.join(one, "a", session_timeout_ms=90_000, rebalance_timeout_ms=20_000)
    desk.pass_time(21)
    assert {each.member_id for each in desk.answer(ticket).members} == {one, two}


def test_static_members_that_all_stay_away_go_with_their_sessions():
    desk = Desk()
    ids, generation = desk.stable(instance_ids=["a", "b"], session_timeout_ms=30_000, rebalance_timeout_ms=5_000)
    desk.leave((ids[0], "a"))
    desk.pass_time(19)
    assert desk.group.state is GroupState.PREPARING_REBALANCE
    desk.pass_time(11)
    assert (desk.group.state, desk.group.generation) == (GroupState.EMPTY, generation + 1)


def test_coming_without_its_instance_id_a_static_member_stays_static():
    desk = Desk()
    (one, _), _ = desk.stable(instance_ids=["a", "b"])
    desk.join(one)
    assert desk.group.members[one].instance_id == "a"
    again = desk.join(instance_id="a")
    assert desk.is_parked(again)


def test_a_static_member_takes_its_own_place_in_a_full_group():
    desk = Desk(group_max_size=2)
    desk.stable(instance_ids=["a", "b"])
    assert desk.answer(desk.join(instance_id="b")).error_code == 0
    assert desk.answer(desk.join(instance_id="c")).error_code == 81
