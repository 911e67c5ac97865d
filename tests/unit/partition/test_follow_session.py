"""What a follower tells its leader: only what is news, and again from the beginning when the leader forgot."""

import pytest

from batches import NOW, batch
from headrace.cluster.entities import PartitionState
from headrace.partition import follow_session
from headrace.partition.follow_session import FollowSession, News
from headrace.wire.batch import parse_header, stamp
from partition_rig import ID, PartitionRig

ME, LEADER = 1, 2
FOLLOWED = PartitionState((LEADER, ME), (LEADER, ME), LEADER, 5)
OUT_OF_SYNC = FOLLOWED._replace(isr=(LEADER,))
BYTES_MAX = 1000


class Followed(PartitionRig):
    def copy(self) -> None:
        """A batch of the leader, in our log but not yet on disk."""
        content = batch()
        stamp(content, 0, self.partition.log.end_offset, 5)
        self.partition.following.append_copies(memoryview(content), [parse_header(content)], NOW)


@pytest.fixture
def rig() -> Followed:
    return Followed(FOLLOWED)


@pytest.fixture
def session(rig: Followed) -> FollowSession:
    session = FollowSession(ME)
    session.follow(rig.partition)
    return session


def news(session: FollowSession, held_back: tuple[object, ...] = (), now: float = 0.0) -> News:
    return session.news(held_back, BYTES_MAX, now)


def offsets(found: News) -> list[int]:
    return [part.fetch_offset for topic in found.topics for part in topic.partitions]


def test_a_position_is_told_once(session: FollowSession) -> None:
    first = news(session)
    (topic,) = first.topics
    (part,) = topic.partitions
    assert (topic.topic_id, part.partition, part.current_leader_epoch, part.fetch_offset) == (b"i" * 16, 0, 5, 0)
    assert part.partition_max_bytes == BYTES_MAX
    assert news(session) == News([], [])
    assert not session.is_empty


def test_the_offset_is_what_is_on_disk(session: FollowSession, rig: Followed) -> None:
    news(session)
    rig.copy()
    left = news(session)
    assert offsets(left) == [], "the end of the log is not proven yet"
    assert [each.partitions for each in left.forgotten] == [[0]]
    rig.sync()
    assert offsets(news(session)) == [1]


def test_a_watermark_and_an_epoch_are_news(session: FollowSession, rig: Followed) -> None:
    rig.copy()
    rig.sync()
    news(session)
    rig.partition.following.on_leader_word(1, 0, 1)
    (topic,) = news(session).topics
    assert topic.partitions[0].high_watermark == 1
    rig.partition.on_state(FOLLOWED._replace(leader_epoch=6), NOW)
    (topic,) = news(session).topics
    assert topic.partitions[0].current_leader_epoch == 6


def test_a_cut_is_news(session: FollowSession, rig: Followed) -> None:
    rig.copy()
    rig.sync()
    assert offsets(news(session)) == [1]
    rig.partition.following.truncate(0, NOW)
    assert offsets(news(session)) == [0]


def test_one_in_trouble_leaves_the_session_until_its_time_is_over(session: FollowSession, rig: Followed) -> None:
    news(session)
    session.back_off(rig.partition, until=5.0)
    left = news(session, now=1.0)
    assert [each.partitions for each in left.forgotten] == [[0]]
    assert session.is_empty
    rig.partition.following.on_leader_word(0, 0, 0)
    assert news(session, now=4.9) == News([], [])
    assert offsets(news(session, now=5.0)) == [0]


def test_one_that_is_held_back_leaves_and_comes_again(session: FollowSession) -> None:
    news(session)
    assert len(news(session, (ID,)).forgotten) == 1
    assert news(session, (ID,)) == News([], [])
    assert offsets(news(session)) == [0]


def test_one_that_is_no_longer_followed_is_forgotten(session: FollowSession, rig: Followed) -> None:
    news(session)
    session.unfollow(rig.partition)
    assert len(news(session).forgotten) == 1
    rig.copy()
    assert not session.has_news, "it tells a session that does not follow it any more"


def test_a_topic_made_anew_under_its_name_takes_the_place_of_the_old(session: FollowSession, rig: Followed) -> None:
    news(session)
    again = Followed(FOLLOWED).partition
    again.topic_id = b"n" * 16
    session.unfollow(rig.partition)
    session.follow(again)
    told = news(session)
    assert [each.topic_id for each in told.forgotten] == [b"i" * 16]
    assert [each.topic_id for each in told.topics] == [b"n" * 16]


def test_all_is_told_again_to_a_leader_that_forgot_us(session: FollowSession) -> None:
    news(session)
    session.forget()
    assert session.is_empty
    assert offsets(news(session)) == [0]


def test_who_is_not_in_sync_is_known(session: FollowSession, rig: Followed) -> None:
    assert list(session.behind) == []
    rig.partition.on_state(OUT_OF_SYNC, NOW)
    session.follow(rig.partition)
    assert list(session.behind) == [rig.partition]
    session.unfollow(rig.partition)
    assert list(session.behind) == []


def test_many_are_told_in_portions_and_everybodys_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_session, "NEWS_MAX", 2)
    session = FollowSession(ME)
    for index in range(5):
        partition = Followed(FOLLOWED).partition
        partition.id = partition.id._replace(partition=index)
        session.follow(partition)

    def told() -> list[int]:
        return [part.partition for topic in news(session).topics for part in topic.partitions]

    assert told() == [0, 1]
    session.forget()
    assert told() == [2, 3], "a leader that keeps no session must hear of the others too"
    assert told() == [4, 0]
    assert told() == [1]
    assert not session.has_news
