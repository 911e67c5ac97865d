"""Who may commit and fetch the offsets of a consumer group."""

from desk import GROUP, Desk, topic_id
from next_members import Member, join_all, settle

from headrace.wire.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)


def commit(desk, offset, member_id, epoch, partition=0, **fields):
    return desk.commit_offset(offset, member_id, epoch, partition=partition, topic_id=topic_id("t"), **fields)


def fetch(desk, member_id, epoch):
    group = OffsetFetchRequestGroup(GROUP, member_id, epoch, [OffsetFetchRequestTopics("t", partition_indexes=[0])])
    (found,) = desk.answer(desk.ask(OffsetFetchRequest(groups=[group]), 9)).groups
    return found.error_code or found.topics[0].partitions[0].committed_offset


def test_members_commit_with_their_epoch():
    desk = Desk()
    (one,) = join_all(desk, "one")
    assert commit(desk, 7, "one", one.epoch) == 0
    assert desk.offset() == 7
    assert commit(desk, 8, "one", one.epoch + 1) == 113
    assert commit(desk, 8, "nobody", one.epoch) == 25
    assert commit(desk, 8, "", -1) == 25
    assert commit(desk, 8, "one", one.epoch, version=8) == 35
    assert desk.offset() == 7


def test_an_older_epoch_counts_for_what_was_held_since():
    desk = Desk()
    one, two = join_all(desk, "one", "two")
    _, kept = min(one.owned)
    (_, others) = min(two.owned)
    before = one.epoch
    two.leave()
    settle(desk, one)
    assert one.epoch > before
    assert commit(desk, 5, "one", before, kept) == 0
    assert commit(desk, 5, "one", before, others) == 113
    assert commit(desk, 5, "one", one.epoch, others) == 0


def test_what_is_being_given_up_may_still_be_committed():
    desk = Desk()
    (one,) = join_all(desk, "one")
    Member(desk, "two").join()
    one.beat()
    (_, leaving) = min(desk.consumer.current_of("one").revoking)
    assert commit(desk, 5, "one", one.epoch, leaving) == 0


def test_fetching():
    desk = Desk()
    (one,) = join_all(desk, "one")
    commit(desk, 7, "one", one.epoch)
    assert fetch(desk, "one", one.epoch) == 7
    assert fetch(desk, None, -1) == 7
    assert fetch(desk, "one", one.epoch + 1) == 113
    assert fetch(desk, "nobody", 1) == 25


def test_administrators_commit_when_nobody_is_in():
    desk = Desk()
    (one,) = join_all(desk, "one")
    one.leave()
    assert commit(desk, 3, "", -1) == 0
    assert desk.offset() == 3


def test_offsets_of_topics_in_use_are_not_deleted():
    desk = Desk()
    (one,) = join_all(desk, "one")
    commit(desk, 7, "one", one.epoch)
    commit(desk, 7, "one", one.epoch, topic="u")

    def delete(topic):
        topics = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
        answer = desk.answer(desk.ask(OffsetDeleteRequest(GROUP, topics), 0))
        return answer.topics[0].partitions[0].error_code

    assert (delete("t"), delete("u")) == (86, 0)
    assert (desk.offset("t"), desk.offset("u")) == (7, -1)
