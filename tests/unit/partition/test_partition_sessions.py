"""Fetch sessions: opened, gone on with, refused, forgotten and evicted as KIP-227 wants."""

import itertools

import pytest

from headrace.base.errors import Refused
from headrace.partition.fetch_session import EVICT_AFTER_SECONDS, FetchSessions
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from partition_rig import PartitionRig

BY_NAME, BY_ID = 12, 13


class Sessions(FetchSessions):
    def __init__(self, slots: int = 3) -> None:
        self.now = 0.0
        ids = itertools.count(101)
        super().__init__(slots, lambda: next(ids), lambda: self.now)


def request(*indexes: int, session_id: int = 0, epoch: int = 0, forget: tuple[int, ...] = ()) -> FetchRequest:
    topics = [FetchTopic("t", b"i" * 16, [FetchPartition(index, partition_max_bytes=1) for index in indexes])]
    forgotten = [ForgottenTopic("t", b"i" * 16, list(forget))] if forget else []
    return FetchRequest(
        session_id=session_id, session_epoch=epoch, topics=topics if indexes else [], forgotten_topics_data=forgotten
    )


def refused(sessions: FetchSessions, wanted: FetchRequest, version: int = BY_NAME) -> int:
    with pytest.raises(Refused) as refusal:
        sessions.resolve(wanted, version)
    return refusal.value.code


def test_a_session_remembers_what_it_follows() -> None:
    sessions = Sessions()
    opened = sessions.resolve(request(0, 1), BY_NAME)
    assert opened.id == 101
    opened.dirty.clear()
    same = sessions.resolve(request(2, session_id=101, epoch=1, forget=(0,)), BY_NAME)
    assert same is opened
    assert [index for _, index in same.entries] == [1, 2]
    assert [entry.index for entry in same.dirty] == [2], "only what the request changed is worth a look"


def test_epochs_count_up_from_one_request_to_the_next() -> None:
    sessions = Sessions()
    sessions.resolve(request(0), BY_NAME)
    for epoch in (1, 2, 3):
        sessions.resolve(request(session_id=101, epoch=epoch), BY_NAME)
    assert refused(sessions, request(session_id=101, epoch=3)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(sessions, request(session_id=101, epoch=5)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    sessions.resolve(request(session_id=101, epoch=4), BY_NAME)


def test_after_the_highest_epoch_comes_one() -> None:
    sessions = Sessions()
    opened = sessions.resolve(request(0), BY_NAME)
    opened.epoch = (1 << 31) - 1
    sessions.resolve(request(session_id=101, epoch=(1 << 31) - 1), BY_NAME)
    assert opened.epoch == 1


def test_nobodys_session_and_the_wrong_kind() -> None:
    sessions = Sessions()
    assert refused(sessions, request(session_id=5, epoch=1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    sessions.resolve(request(0), BY_NAME)
    wrong = refused(sessions, request(session_id=101, epoch=1), BY_ID)
    assert wrong == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_final_fetch_and_one_without_partitions_keep_nothing() -> None:
    sessions = Sessions()
    assert sessions.resolve(request(0, epoch=-1), BY_NAME).id == 0
    assert sessions.resolve(request(), BY_NAME).id == 0
    sessions.resolve(request(0), BY_NAME)
    sessions.resolve(request(session_id=101, epoch=-1), BY_NAME)
    assert len(sessions) == 0


def test_who_finds_no_slot_is_served_without_one_until_an_old_one_is_stale() -> None:
    sessions = Sessions(slots=2)
    for _ in range(2):
        sessions.resolve(request(0), BY_NAME)
    assert sessions.resolve(request(0), BY_NAME).id == 0
    sessions.now = EVICT_AFTER_SECONDS
    sessions.resolve(request(session_id=102, epoch=1), BY_NAME)
    assert sessions.resolve(request(0), BY_NAME).id == 103
    assert refused(sessions, request(session_id=101, epoch=1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


class Parked:
    finished = 0

    def finish(self) -> None:
        self.finished += 1


def test_a_session_whose_fetch_waits_keeps_its_slot() -> None:
    sessions, parked = Sessions(slots=1), Parked()
    waiting = sessions.resolve(request(0), BY_NAME)
    waiting.parked = parked
    sessions.now = 2 * EVICT_AFTER_SECONDS
    assert sessions.resolve(request(0), BY_NAME).id == 0 and not parked.finished
    waiting.parked = None
    assert sessions.resolve(request(0), BY_NAME).id == 102


def test_a_client_that_comes_back_does_not_wait_for_its_first_answer() -> None:
    sessions, parked = Sessions(), Parked()
    sessions.resolve(request(0), BY_NAME).parked = parked
    sessions.resolve(request(session_id=101, epoch=1), BY_NAME)
    assert parked.finished == 1


def test_entries_hear_of_their_partition_and_of_no_other() -> None:
    partition = PartitionRig().partition
    sessions = Sessions()
    session = sessions.resolve(request(0), BY_NAME)
    (entry,) = session.entries.values()
    entry.follow(partition)
    session.dirty.clear()
    partition.notify()
    assert list(session.dirty) == [entry]
    sessions.resolve(request(session_id=101, epoch=1, forget=(0,)), BY_NAME)
    assert not partition.watchers
    assert not session.dirty
