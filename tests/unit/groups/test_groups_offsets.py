"""Commits, fetches, deletion and expiry of offsets."""

import pytest
from desk import GROUP, WALL, Desk, protocols, subscription

from headrace.base.clock import Now
from headrace.groups.classic.group import GroupState
from headrace.wire.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from headrace.wire.messages.groups_admin import DeleteGroupsRequest

DAY_MS = 24 * 60 * 60 * 1000


def expire(desk, days):
    desk.run(desk.groups.expire(Now(0.0, WALL + int(days * DAY_MS))))


def test_what_is_committed_comes_back_word_for_word():
    desk = Desk()
    assert desk.commit_offset(42, metadata="päläver \n") == 0
    desk.reload()
    request = OffsetFetchRequest(GROUP, [OffsetFetchRequestTopic("t", [0, 1])])
    known, unknown = desk.answer(desk.ask(request, 5)).topics[0].partitions
    assert (known.committed_offset, known.committed_leader_epoch, known.metadata) == (42, 3, "päläver \n")
    assert (unknown.committed_offset, unknown.metadata, unknown.error_code) == (-1, "", 0)


def test_members_commit_in_their_generation():
    desk = Desk()
    (one, _), generation = desk.stable(2)
    assert desk.commit_offset(1, one, generation) == 0
    assert desk.commit_offset(2, one, generation + 1) == 22
    assert desk.commit_offset(2, one, generation - 1) == 22
    assert desk.commit_offset(2, "nobody", generation) == 25
    assert desk.commit_offset(2) == 25
    assert desk.commit_offset(2, one, -1) == 22
    assert desk.offset() == 1
    desk.join(one)
    assert desk.commit_offset(3, one, generation) == 0


def test_no_commit_while_the_assignment_is_made():
    desk = Desk()
    member_id, _ = desk.new_member()
    desk.pass_time(3)
    assert desk.commit_offset(1, member_id, 1) == 27


def test_a_commit_keeps_a_member_alive():
    desk = Desk()
    (one,), generation = desk.stable(1)
    for _ in range(3):
        desk.pass_time(9)
        assert desk.commit_offset(1, one, generation) == 0


@pytest.mark.parametrize(("version", "code"), [(8, 22), (9, 69)])
def test_a_generation_of_a_group_that_is_not_there(version, code):
    assert Desk().commit_offset(1, "m", 4, version=version) == code


def test_a_refused_commit_leaves_no_group_behind():
    desk = Desk()
    assert desk.commit_offset(1, metadata="x" * 4097) == 12
    assert desk.groups.table.groups == {}
    assert desk.commit_offset(1, metadata="x" * 4096) == 0


def test_group_ids_of_commits():
    desk = Desk()
    assert desk.commit_offset(1, group="g" * 8_001) == 24
    assert desk.commit_offset(1, group="𐍈" * 8_000) == 0
    assert desk.commit_offset(1, group="") == 0


def test_offsets_may_go_back_when_told_to():
    desk = Desk()
    for offset in (10, 4):
        assert desk.commit_offset(offset) == 0
        assert desk.offset() == offset


def test_fetch_all_topics():
    desk = Desk()
    desk.commit_offset(1, topic="a", partition=3)
    desk.commit_offset(2, topic="b")
    old = desk.answer(desk.ask(OffsetFetchRequest(GROUP, None), 2))
    assert {(each.name, each.partitions[0].committed_offset) for each in old.topics} == {("a", 1), ("b", 2)}
    new = desk.answer(desk.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP)]), 8))
    assert {(each.name, each.partitions[0].partition_index) for each in new.groups[0].topics} == {("a", 3), ("b", 0)}


def test_fetch_many_groups():
    desk = Desk()
    desk.commit_offset(1)
    desk.commit_offset(2, group="other")
    topics = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
    groups = [OffsetFetchRequestGroup(each, topics=topics) for each in (GROUP, "other", "unknown")]
    answer = desk.answer(desk.ask(OffsetFetchRequest(groups=groups), 9))
    offsets = [
        (each.group_id, each.error_code, each.topics[0].partitions[0].committed_offset) for each in answer.groups
    ]
    assert offsets == [(GROUP, 0, 1), ("other", 0, 2), ("unknown", 0, -1)]


def test_a_topic_id_comes_back_with_its_offset():
    desk = Desk()
    topic_id = b"i" * 16
    assert desk.commit_offset(7, version=10, topic_id=topic_id) == 0
    topics = [OffsetFetchRequestTopics("t", topic_id, [0])]
    answer = desk.answer(desk.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=topics)]), 9))
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 7
    assert desk.groups.table.groups[GROUP].offsets.get("t", 0).topic_id == topic_id


# -- deletion --------------------------------------------------------------------------------------------------------


def delete_offsets(desk, *topics, group=GROUP):
    asked = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)]) for topic in topics]
    answer = desk.answer(desk.ask(OffsetDeleteRequest(group, asked), 0))
    return answer.error_code, [each.partitions[0].error_code for each in answer.topics]


def test_delete_offsets_of_an_empty_group():
    desk = Desk()
    desk.commit_offset(1, topic="a")
    desk.commit_offset(1, topic="b")
    assert delete_offsets(desk, "a", "never") == (0, [0, 0])
    assert (desk.offset("a"), desk.offset("b")) == (-1, 1)
    assert delete_offsets(desk, "b") == (0, [0])
    assert delete_offsets(desk, "b") == (69, [])
    assert delete_offsets(desk, group="") == (24, [])


def test_delete_offsets_of_a_group_that_reads():
    desk = Desk()
    (one, _), generation = desk.stable(2)
    desk.commit_offset(1, one, generation, topic="t")
    desk.commit_offset(1, one, generation, topic="former")
    assert delete_offsets(desk, "t", "former") == (0, [86, 0])
    assert (desk.offset("t"), desk.offset("former")) == (1, -1)


def test_delete_offsets_is_careful_with_groups_it_does_not_understand():
    desk = Desk()
    desk.stable(1, protocols=protocols(range=b"\x00"))
    assert delete_offsets(desk, "any") == (0, [86])
    desk = Desk()
    desk.stable(1, protocol_type="connect")
    assert delete_offsets(desk, "any") == (68, [])


def test_delete_groups():
    desk = Desk()
    (one,), generation = desk.stable(1)
    desk.commit_offset(1, one, generation)

    def delete(*names):
        answer = desk.answer(desk.ask(DeleteGroupsRequest(list(names)), 2))
        return [each.error_code for each in answer.results]

    assert delete(GROUP, "unknown") == [68, 69]
    desk.leave((one, None))
    given = desk.answer(desk.join()).member_id
    assert delete(GROUP, GROUP) == [0, 0]
    assert (desk.groups.table.groups, desk.timers) == ({}, {})
    assert desk.answer(desk.join(given)).error_code == 25
    desk.reload()
    assert desk.groups.table.groups == {}
    assert delete(GROUP) == [69]


def test_offsets_of_a_deleted_topic_go():
    desk = Desk()
    desk.commit_offset(1, topic="gone", topic_id=b"1" * 16)
    desk.commit_offset(1, topic="again", topic_id=b"2" * 16)
    desk.commit_offset(1, topic="kept", topic_id=b"3" * 16)
    now = {"again": b"9" * 16, "kept": b"3" * 16}
    desk.run(desk.groups.on_topics_deleted(lambda name, topic_id: now.get(name) != topic_id))
    desk.reload()
    assert [desk.offset(topic) for topic in ("gone", "again", "kept")] == [-1, -1, 1]


# -- expiry ----------------------------------------------------------------------------------------------------------


def test_offsets_of_a_simple_consumer_expire_after_their_commit():
    desk = Desk()
    desk.commit_offset(1)
    expire(desk, 6.9)
    assert desk.offset() == 1
    expire(desk, 7.1)
    assert desk.groups.table.groups == {}


def test_offsets_of_an_empty_group_expire_after_the_last_member_left():
    desk = Desk()
    (one,), generation = desk.stable(1)
    desk.commit_offset(1, one, generation)
    desk.mono += 5 * 24 * 60 * 60
    desk.leave((one, None))
    expire(desk, 11.9)
    assert desk.offset() == 1
    expire(desk, 12.1)
    assert desk.groups.table.groups == {}


def test_a_stable_group_loses_only_what_it_does_not_read():
    desk = Desk()
    (one,), generation = desk.stable(1, protocols=protocols(range=subscription("t")))
    desk.commit_offset(1, one, generation, topic="t")
    desk.commit_offset(1, one, generation, topic="former")
    expire(desk, 8)
    assert (desk.offset("t"), desk.offset("former")) == (1, -1)
    assert desk.group.state is GroupState.STABLE


@pytest.mark.parametrize("fields", [{"protocol_type": "connect"}, {"protocols": protocols(range=b"?")}])
def test_groups_whose_topics_are_not_known_lose_nothing(fields):
    desk = Desk()
    (one,), generation = desk.stable(1, **fields)
    desk.commit_offset(1, one, generation)
    expire(desk, 100)
    assert desk.offset() == 1


def test_nothing_expires_during_a_rebalance():
    desk = Desk()
    (one, _), generation = desk.stable(2)
    desk.commit_offset(1, one, generation, topic="former")
    desk.join(one)
    expire(desk, 100)
    assert desk.offset("former") == 1


def test_old_clients_name_their_own_retention():
    desk = Desk()
    desk.commit_offset(1, version=4, retention_time_ms=DAY_MS)
    desk.reload()
    expire(desk, 0.9)
    assert desk.offset() == 1
    expire(desk, 1.1)
    assert desk.offset() == -1


def test_a_retention_without_end():
    desk = Desk()
    assert desk.commit_offset(1, version=4, retention_time_ms=2**63 - 1) == 0
    expire(desk, 10_000)
    assert desk.offset() == 1


def test_an_empty_group_without_offsets_goes():
    desk = Desk()
    (one,), _ = desk.stable(1)
    desk.leave((one, None))
    expire(desk, 0)
    assert desk.groups.table.groups == {}
    desk.reload()
    assert desk.groups.table.groups == {}


def test_a_group_that_somebody_is_about_to_join_stays():
    desk = Desk()
    (one,), _ = desk.stable(1)
    desk.leave((one, None))
    given = desk.answer(desk.join()).member_id
    expire(desk, 0)
    assert desk.is_parked(desk.join(given))


def test_no_decision_is_made_before_the_records_of_the_last_one_are_applied():
    desk = Desk()
    desk.commit_offset(42)
    later = Now(0.0, WALL + 100 * DAY_MS)
    assert desk.groups.expire(later).records
    with pytest.raises(AssertionError, match="of the last one"):
        desk.groups.expire(later)
