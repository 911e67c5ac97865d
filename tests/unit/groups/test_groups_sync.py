"""The leader's assignment, heartbeats, sessions and departures."""

from desk import Desk

from headrace.groups.classic.group import GroupState


def completing(desk, count=2):
    joined = [desk.new_member() for _ in range(count)]
    desk.pass_time(6)
    assert desk.group.state is GroupState.COMPLETING_REBALANCE
    return [member_id for member_id, _ in joined]


def test_followers_wait_for_the_leader():
    desk = Desk()
    one, two = completing(desk)
    waits = desk.sync(two, 1)
    assert desk.is_parked(waits)
    leads = desk.sync(one, 1, {one: b"1", two: b"2"})
    assert (desk.answer(leads).assignment, desk.answer(waits).assignment) == (b"1", b"2")
    assert desk.answer(waits).protocol_name == "range"
    assert desk.group.state is GroupState.STABLE


def test_who_comes_late_gets_the_stored_share():
    desk = Desk()
    one, two = completing(desk)
    desk.sync(one, 1, {two: b"2"})
    assert desk.answer(desk.sync(two, 1)).assignment == b"2"
    assert desk.answer(desk.sync(one, 1)).assignment == b""


def test_nothing_is_answered_before_the_assignment_is_committed():
    desk = Desk()
    one, _ = completing(desk)
    desk.commits_at_once = False
    ticket = desk.sync(one, 1, {one: b"1"})
    assert desk.is_parked(ticket)
    desk.commit()
    assert desk.answer(ticket).assignment == b"1"


def test_sync_refuses():
    desk = Desk()
    (one, two), generation = desk.stable(2)

    def code(*args, **fields):
        return desk.answer(desk.sync(*args, **fields)).error_code

    assert code("nobody", generation) == 25
    assert code(one, generation + 1) == 22
    assert code(one, generation, protocol_type="connect") == 23
    assert code(one, generation, protocol_name="sticky") == 23
    assert code(one, generation, protocol_type="consumer", protocol_name="range") == 0
    desk.join(one)
    assert code(two, generation) == 27


def test_sync_and_heartbeat_of_unknown_groups():
    desk = Desk()
    assert desk.answer(desk.sync("m", 1)).error_code == 25
    assert desk.heartbeat("m", 1) == 25


def test_syncing_twice_answers_the_first_request_too():
    desk = Desk()
    one, two = completing(desk)
    first, second = desk.sync(two, 1), desk.sync(two, 1)
    assert desk.answer(first).error_code == 27
    desk.sync(one, 1, {two: b"2"})
    assert desk.answer(second).assignment == b"2"


def test_members_that_never_sync_are_dropped():
    desk = Desk()
    one, two, three = completing(desk, 3)
    waits = desk.sync(two, 1)
    for _ in range(59):
        assert desk.heartbeat(one, 1) == desk.heartbeat(three, 1) == 0
        desk.pass_time(1)
    assert desk.is_parked(waits)
    desk.pass_time(2)
    assert desk.answer(waits).error_code == 27
    assert list(desk.group.members) == [two]


def test_a_join_while_completing_sends_all_back():
    desk = Desk()
    _, two = completing(desk)
    waits = desk.sync(two, 1)
    desk.new_member()
    assert desk.answer(waits).error_code == 27
    assert desk.group.state is GroupState.PREPARING_REBALANCE


def test_heartbeat_codes():
    desk = Desk()
    one, _ = completing(desk)
    assert desk.heartbeat(one, 1) == 0
    assert desk.heartbeat(one, 0) == 22
    assert desk.heartbeat("nobody", 1) == 25


def test_heartbeats_keep_a_member_and_cost_no_timer():
    desk = Desk()
    (one,), generation = desk.stable(1)
    for _ in range(20):
        desk.pass_time(9)
        before = dict(desk.timers)
        assert desk.heartbeat(one, generation) == 0
        assert desk.timers == before
    desk.pass_time(11)
    assert desk.group.state is GroupState.EMPTY
    assert desk.heartbeat(one, generation) == 25


def test_the_group_goes_on_without_a_dead_member():
    desk = Desk()
    (one, two), generation = desk.stable(2)
    desk.pass_time(8)
    assert desk.heartbeat(one, generation) == 0
    desk.pass_time(3)
    assert desk.heartbeat(one, generation) == 27
    assert desk.heartbeat(two, generation) == 25
    assert desk.answer(desk.join(one)).generation_id == generation + 1


def test_who_waits_for_an_answer_is_alive():
    desk = Desk()
    (one, two), _ = desk.stable(2)
    ticket = desk.join(one)
    for _ in range(5):
        desk.pass_time(9)
        assert desk.heartbeat(two, 1) == 27
    assert desk.is_parked(ticket)
    desk.join(two)
    assert desk.answer(ticket).generation_id == 2


def test_the_last_to_leave_empties_the_group():
    desk = Desk()
    (one, two), generation = desk.stable(2)
    assert [each.error_code for each in desk.leave((one, None)).members] == [0]
    assert desk.heartbeat(two, generation) == 27
    desk.leave((two, None))
    assert (desk.group.state, desk.group.generation) == (GroupState.EMPTY, generation + 1)
    assert desk.timers == {}


def test_leaving_frees_a_rebalance_that_waits():
    desk = Desk()
    (one, two), _ = desk.stable(2)
    ticket = desk.join(one)
    desk.leave((two, None))
    assert desk.answer(ticket).generation_id == 2


def test_leaving_answers_what_the_member_waits_for():
    desk = Desk()
    (one, _), _ = desk.stable(2)
    ticket = desk.join(one)
    desk.leave((one, None))
    assert desk.answer(ticket).error_code == 25


def test_leave_answers_for_each_member():
    desk = Desk()
    ids, _ = desk.stable(instance_ids=["a", "b"])
    answer = desk.leave(("", "b"), ("", "zzz"), ("nobody", None), (ids[1], "a"), (ids[0], "a"))
    assert [each.error_code for each in answer.members] == [0, 25, 25, 82, 0]
    assert [each.group_instance_id for each in answer.members] == ["b", "zzz", None, "a", "a"]
    assert desk.group.state is GroupState.EMPTY


def test_leave_before_version_3_has_one_code():
    from headrace.wire.messages.groups_classic import LeaveGroupRequest

    desk = Desk()
    (one,), _ = desk.stable(1)
    assert desk.answer(desk.ask(LeaveGroupRequest("g", "nobody"), 2)).error_code == 25
    assert desk.answer(desk.ask(LeaveGroupRequest("g", one), 2)).error_code == 0
    assert desk.answer(desk.ask(LeaveGroupRequest("unknown", one), 2)).error_code == 25
    assert desk.answer(desk.ask(LeaveGroupRequest("", one), 2)).error_code == 24


def test_leave_of_an_unknown_group_is_each_members_own_failure():
    desk = Desk()
    answer = desk.leave(("m", None))
    assert (answer.error_code, answer.members[0].error_code) == (0, 25)


def test_an_id_handed_out_can_be_given_back_without_a_rebalance():
    desk = Desk()
    (one,), _ = desk.stable(1)
    given = desk.answer(desk.join()).member_id
    assert desk.leave((given, None)).members[0].error_code == 0
    assert desk.group.state is GroupState.STABLE
    given = desk.answer(desk.join()).member_id
    ticket = desk.join(one)
    assert desk.is_parked(ticket)
    desk.leave((given, None))
    assert desk.answer(ticket).generation_id == 2


def test_a_loaded_group_goes_on_without_a_rebalance():
    desk = Desk()
    (one, two), generation = desk.stable(2)
    desk.reload()
    assert desk.heartbeat(one, generation) == desk.heartbeat(two, generation) == 0
    assert desk.answer(desk.sync(two, generation)).assignment == f"share of {two}".encode()
    desk.pass_time(11)
    assert desk.group.state is GroupState.EMPTY


def test_a_group_loaded_between_join_and_sync_completes_its_generation():
    desk = Desk()
    one, two = completing(desk)
    desk.sync(two, 1)
    desk.reload()
    assert desk.group.state is GroupState.COMPLETING_REBALANCE
    waits = desk.sync(two, 1)
    desk.sync(one, 1, {two: b"2"})
    assert desk.answer(waits).assignment == b"2"


def test_a_group_loaded_between_join_and_sync_drops_who_never_syncs():
    desk = Desk()
    one, two = completing(desk)
    desk.reload()
    waits = desk.sync(two, 1)
    for _ in range(7):
        desk.heartbeat(one, 1)
        desk.pass_time(9)
    assert desk.answer(waits).error_code == 27
    assert list(desk.group.members) == [two]
