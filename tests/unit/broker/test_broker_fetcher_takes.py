"""What a follower does with an answer of its leader: which it takes, when it starts over, and what it has room for."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from batches import NOW, batch
from headrace.base.errors import DiskFull
from headrace.broker.replication.catch_up import CatchUp
from headrace.broker.replication.fetcher import Fetcher
from headrace.cluster.entities import PartitionState
from headrace.partition.partition import Partition
from headrace.wire.batch import stamp
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from partition_rig import ID, PartitionRig

ME, LEADER, ANOTHER = 1, 2, 3
FOLLOWED = PartitionState((LEADER, ME, ANOTHER), (LEADER, ME, ANOTHER), LEADER, 5)
OUT_OF_SYNC = FOLLOWED._replace(isr=(LEADER, ANOTHER))


class Follower:
    """One partition with three records of the leader on disk, and its fetcher, which has asked for more."""

    def __init__(self, state: PartitionState = FOLLOWED) -> None:
        self.rig = PartitionRig(state)
        self.partition = self.rig.partition
        self.room = 1 << 20
        self.left: list[Partition] = []
        broker: Any = SimpleNamespace(
            id=ME,
            clock=SimpleNamespace(now=lambda: NOW),
            image=SimpleNamespace(topic_names={self.partition.topic_id: ID.topic}),
            hosting=SimpleNamespace(checkpoints=SimpleNamespace(before_cut=_cut)),
            isr_keeper=SimpleNamespace(leave=self.left.append),
            disk_room=SimpleNamespace(check_copy=self._check_copy),
        )
        catch_up: CatchUp = SimpleNamespace(on_copied=lambda partition, size: None)  # type: ignore[assignment]
        self.fetcher = Fetcher(broker, LEADER, catch_up)
        self.fetcher.follow(self.partition)
        self.ask()
        self.take(records=self.batches(3))
        self.rig.sync()
        self.ask()

    def _check_copy(self, size: int) -> None:
        if size > self.room:
            raise DiskFull("full")

    @property
    def end_offset(self) -> int:
        return self.partition.log.end_offset

    def batches(self, count: int) -> memoryview:
        made = bytearray()
        for offset in range(self.end_offset, self.end_offset + count):
            content = batch(b"copied")
            stamp(content, 0, offset, self.partition.leader_epoch)
            made += content
        return memoryview(made)

    def ask(self) -> None:
        self.fetcher._session.news((), 1000, 1e9)

    def take(self, **part: Any) -> None:
        data = PartitionData(ID.partition, **{"high_watermark": 0, "log_start_offset": 0, **part})
        topic = FetchableTopicResponse(topic_id=self.partition.topic_id, partitions=[data])
        asyncio.run(self._take(FetchResponse(responses=[topic])))

    async def _take(self, response: FetchResponse) -> None:
        taking = asyncio.create_task(self.fetcher._take(response))
        while not taking.done():
            await asyncio.sleep(0)
            self.rig.sync()
        await taking

    def refuse(self, log_start_offset: int) -> None:
        self.take(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=log_start_offset)


async def _cut(partition: Partition, offset: int, cut: Callable[[], None], start: int | None = None) -> None:
    cut()


@pytest.fixture
def follower() -> Follower:
    made = Follower()
    assert made.end_offset == 3
    return made


def test_what_the_leader_sent_is_appended(follower: Follower) -> None:
    follower.take(records=follower.batches(2))
    assert follower.end_offset == 5


def test_an_answer_of_an_earlier_epoch_is_not_taken(follower: Follower) -> None:
    records = follower.batches(2)
    follower.partition.on_state(FOLLOWED._replace(leader=ANOTHER, leader_epoch=6), NOW)
    follower.take(records=records)
    assert follower.end_offset == 3


def test_a_follower_without_the_right_to_copy_says_once_what_mends_it(
    follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        follower.take(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        follower.ask()
    assert [record.getMessage().count("super.users") for record in caplog.records] == [1]


def test_one_that_leads_by_now_takes_nothing(follower: Follower) -> None:
    records = follower.batches(2)
    follower.partition.on_state(FOLLOWED._replace(leader=ME, leader_epoch=6), NOW)
    follower.take(records=records)
    assert follower.end_offset == 3


def test_a_log_that_ends_before_the_leaders_begins_starts_over_there(follower: Follower) -> None:
    follower.refuse(log_start_offset=100)
    assert (follower.partition.log.start_offset, follower.end_offset) == (100, 100)


def test_a_log_that_the_leader_has_all_of_is_kept_when_it_is_refused(follower: Follower) -> None:
    follower.refuse(log_start_offset=1)
    assert (follower.partition.log.start_offset, follower.end_offset) == (0, 3)


def test_a_log_that_lost_its_beginning_starts_over_where_nobody_counts_on_it() -> None:
    follower = Follower(OUT_OF_SYNC)
    follower.partition.log.advance_start(2)
    follower.partition.log.lacks_head = True
    follower.take()
    assert (follower.partition.log.start_offset, follower.end_offset) == (0, 0)


def test_a_log_that_lost_its_beginning_stays_while_it_counts_as_in_sync(follower: Follower) -> None:
    follower.partition.log.advance_start(2)
    follower.partition.log.lacks_head = True
    follower.take()
    assert follower.end_offset == 3


def test_without_room_for_copies_it_takes_none_and_leaves_the_in_sync_set(follower: Follower) -> None:
    follower.room = 10
    follower.take(records=follower.batches(1))
    assert follower.end_offset == 3
    assert follower.left == [follower.partition]


def test_it_starts_where_its_leader_starts(follower: Follower) -> None:
    follower.take(high_watermark=3, log_start_offset=2)
    assert follower.partition.log.start_offset == 2


def test_its_start_never_passes_its_watermark(follower: Follower) -> None:
    """What is above may be cut yet."""
    follower.take(high_watermark=1, log_start_offset=2)
    assert (follower.partition.high_watermark, follower.partition.log.start_offset) == (1, 1)
