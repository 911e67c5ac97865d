"""Commits of one turn of the loop share a batch, are applied when it is appended, and are seen by whatever comes next."""

from types import SimpleNamespace
from typing import Any

import pytest

from batches import NOW
from headrace.broker.coordinators.group import GroupCoordinator
from headrace.broker.upkeep.credible_time import CredibleTime
from headrace.groups.batches import GroupBatches
from headrace.groups.coordinator import Groups
from headrace.groups.settings import GroupSettings
from headrace.wire.batch import iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from partition_rig import ALONE, PartitionRig


class Rig:
    def __init__(self) -> None:
        self.rig = PartitionRig()
        self.groups = Groups(GroupSettings())
        clock = SimpleNamespace(mono=lambda: NOW.mono, now=lambda: NOW)
        broker: Any = SimpleNamespace(
            check_lease=lambda: NOW,
            clock=clock,
            credible_time=CredibleTime(NOW),
            deadlines=None,
            new_uuid=lambda: "id",
        )
        self.coordinator = GroupCoordinator(broker, self.rig.partition, self.groups)
        self.coordinator.decisions.is_active = True
        self.answers: list[Any] = []

    def ask(self, *requests: Any) -> None:
        """All in one turn of the loop."""

        async def turn() -> None:
            for request in requests:
                self.coordinator.ask(request, 7, "client", "host", self.answers.append)

        self.rig.loop.run(turn())

    def batches(self) -> int:
        found = self.rig.partition.reads.read(0, 1 << 20, True)
        return 0 if found is None else len(list(iter_headers(memoryview(found.read()))))


def commit(offset: int, group: str = "g", partition: int = 0) -> OffsetCommitRequest:
    part = OffsetCommitRequestPartition(partition, offset, -1, "")
    return OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic("t", bytes(16), [part])])


FETCH = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])


def test_they_share_a_batch_and_are_answered_when_it_is_on_disk() -> None:
    rig = Rig()
    rig.ask(commit(1), commit(2), commit(3, "another"), commit(4, partition=1))
    assert len(rig.answers) == 0
    rig.rig.sync()
    assert [each.topics[0].partitions[0].error_code for each in rig.answers] == [0, 0, 0, 0]
    assert rig.batches() == 1
    assert rig.groups.table.groups["g"].offsets.get("t", 0).offset == 2


def test_a_read_in_the_same_turn_sees_them() -> None:
    rig = Rig()
    rig.ask(commit(1), FETCH, commit(2), FETCH)
    rig.rig.sync()
    parts = [part for each in rig.answers for part in each.topics[0].partitions]
    told = [part.committed_offset for part in parts if hasattr(part, "committed_offset")]
    assert told == [1, 2]


def test_nobody_is_answered_before_the_turn_ends() -> None:
    """A decision may answer others than the one who asks, and giving up answers all: none of them in that one's stack."""
    rig = Rig()

    async def turn() -> None:
        rig.coordinator.ask(FETCH, 7, "client", "host", rig.answers.append)
        assert rig.answers == []

    rig.rig.loop.run(turn())
    rig.rig.loop.run_ready()
    assert [each.error_code for each in rig.answers] == [0]

    async def last_turn() -> None:
        rig.coordinator.decisions.is_active = False
        rig.coordinator.ask(FETCH, 7, "client", "host", rig.answers.append)
        rig.coordinator.decisions.resign()
        assert len(rig.answers) == 1

    rig.rig.loop.run(last_turn())
    rig.rig.loop.run_ready()
    assert [each.error_code for each in rig.answers] == [0, ErrorCode.NOT_COORDINATOR]


def test_of_a_refused_append_nothing_is_applied() -> None:
    rig = Rig()

    async def turn() -> None:
        rig.coordinator.ask(commit(1), 7, "client", "host", rig.answers.append)
        # Another leads before the turn ends.
        rig.rig.partition.on_state(ALONE._replace(leader=2, leader_epoch=6), NOW)

    rig.rig.loop.run(turn())
    rig.rig.loop.run_ready()
    assert rig.coordinator.decisions.is_over
    assert rig.groups.table.groups == {}
    assert [each.topics[0].partitions[0].error_code for each in rig.answers] == [ErrorCode.NOT_COORDINATOR]


def test_a_bug_that_keeps_them_from_being_stored_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    monkeypatch.setattr(GroupBatches, "batch_of", lambda self, outcome, now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rig.ask(commit(1), FETCH)
    rig.rig.loop.run_ready()
    committed, fetched = rig.answers
    assert committed.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    assert fetched.error_code == ErrorCode.NOT_COORDINATOR
    assert rig.coordinator.decisions.is_over, "the next one begins with what the log says"
