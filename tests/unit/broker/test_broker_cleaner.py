"""When a partition is cleaned, and that whatever goes wrong leaves it as it was."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from batches import NOW, batch
from headrace.base.clock import Now
from headrace.broker.upkeep.clean_process import CleaningFailed
from headrace.broker.upkeep.cleaner import Cleaner
from headrace.broker.upkeep.credible_time import CredibleTime
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PartitionState
from headrace.log.clean_job import CleanJob, CleanReport
from headrace.log.clean_log import clean_log
from headrace.log.swap import CleanedGroup
from headrace.partition.partition import Partition
from headrace.wire.batch import iter_headers
from headrace.wire.records import read_records
from partition_rig import ALONE, PartitionRig

DAY_MS = 86_400_000


class InThisProcess:
    """A `Cleaning` over a disk in memory; `fails_after` so many groups."""

    def __init__(self, rig: PartitionRig, job: CleanJob, fails_after: int | None = None) -> None:
        self.job = CleanJob.decode(job.encode())
        self.is_killed = False
        self.has_ended = False
        self._found: Iterator[CleanedGroup | CleanReport] = clean_log(rig.disk, self.job, b"secret", lambda _: None)
        self._left = fails_after

    def next(self) -> CleanedGroup | CleanReport:
        if self._left is not None:
            if self._left == 0:
                raise CleaningFailed("simulated")
            self._left -= 1
        return next(self._found)

    def kill(self) -> None:
        self.is_killed = True

    def end(self) -> None:
        assert self.is_killed
        self.has_ended = True


class Hosted(list[Partition]):
    is_fenced = False


class CleanerRig(PartitionRig):
    def __init__(self, state: PartitionState = ALONE, **settings: object) -> None:
        super().__init__(state, cleanup_policy="compact", **settings)
        self.now = NOW
        self.begun: list[InThisProcess] = []
        self.fails_after: int | None = None
        self.hosted = Hosted([self.partition])
        self.cleaner = self.new_cleaner()

    def new_cleaner(self) -> Cleaner:
        view = SimpleNamespace(clock=SimpleNamespace(now=lambda: self.now), config=BrokerConfig({}), epoch=3)
        room = SimpleNamespace(path="/data", reserve_bytes=0)
        return Cleaner(view, self.hosted, CredibleTime(NOW), self.disk, room, None, self._begin)

    def _begin(self, job: CleanJob) -> InThisProcess:
        self.begun.append(InThisProcess(self, job, self.fails_after))
        return self.begun[-1]

    def wait(self, ms: int) -> None:
        self.now = Now(self.now.mono + ms / 1000, self.now.wall + ms)

    def put(self, key: bytes, value: bytes | None = b"v") -> None:
        self.append(batch(value, key=key), acks=1)
        self.sync()

    def seal(self) -> None:
        self.partition.upkeep.roll(self.now)
        self.sync()

    def run(self, seconds: float = 1.0) -> None:
        task = self.loop.create_task(self.cleaner.run())
        self.loop.pass_time(seconds)
        task.cancel()
        self.loop.run_ready()

    def offsets(self) -> list[int]:
        offsets, start = [], 0
        while (found := self.partition.reads.read(start, 1 << 20, True)) is not None:
            content = found.read()
            found.release()
            for at, header in iter_headers(content):
                offsets += [record.offset for record in read_records(content[at:])]
                start = header.next_offset
        return offsets


def dirty(**settings: object) -> CleanerRig:
    rig = CleanerRig(**settings)
    for number in range(6):
        rig.put(b"ab"[number % 2 :][:1])
        if number % 2:
            rig.seal()
    return rig


def test_the_dirty_are_cleaned_once() -> None:
    rig = dirty()
    rig.run(60)
    assert rig.offsets() == [4, 5]
    assert (rig.cleaner.runs, len(rig.begun), rig.begun[0].has_ended) == (1, 1, True)
    assert left_over(rig) == []
    assert not [name for name in rig.disk.listdir(rig.partition.log.path) if name.endswith(".deleted")]


def test_what_was_cleaned_is_remembered() -> None:
    rig = dirty()
    rig.run()
    rig.cleaner = rig.new_cleaner()
    rig.run(60)
    assert len(rig.begun) == 1


def test_clean_enough_is_left_alone() -> None:
    rig = dirty(min_cleanable_dirty_ratio=0.5)
    rig.run()
    rig.put(b"c")
    rig.seal()
    rig.run(60)
    assert len(rig.begun) == 1, "a third is dirty"
    for _ in range(3):
        rig.put(b"c")
    rig.seal()
    rig.run(60)
    assert len(rig.begun) == 2
    assert rig.begun[1].job.first_dirty_offset == 6


def test_a_topic_that_is_not_compacted_is_not_cleaned() -> None:
    rig = dirty()
    rig.partition.config = rig.partition.config._replace(cleanup_policy=("delete",))
    rig.run(60)
    assert rig.begun == []


def test_what_is_young_waits() -> None:
    rig = dirty(min_compaction_lag_ms=DAY_MS)
    rig.run(60)
    assert rig.begun == []
    rig.wait(DAY_MS + 1)
    rig.run(60)
    assert len(rig.begun) == 1


def test_what_is_old_does_not_wait_for_more_dirt_nor_for_a_full_segment() -> None:
    rig = CleanerRig(max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1)
    rig.put(b"a")
    rig.put(b"a")
    rig.run(60)
    assert rig.begun == []
    rig.wait(1001)
    rig.run(60)
    assert rig.offsets() == [1]


def test_a_tombstone_goes_when_its_time_has_come_without_anything_new() -> None:
    rig = CleanerRig(delete_retention_ms=DAY_MS)
    rig.put(b"a")
    rig.put(b"a", None)
    rig.put(b"b")
    rig.seal()
    rig.run(60)
    assert rig.offsets() == [1, 2]
    rig.wait(DAY_MS - 1)
    rig.run(60)
    assert rig.offsets() == [1, 2]
    rig.wait(1)
    rig.run(60)
    assert rig.offsets() == [2]


def test_a_tombstone_stays_while_a_replica_is_away_and_goes_when_it_is_back() -> None:
    """As a follower it knows of the others by the metadata alone."""
    rig = CleanerRig(PartitionState((1, 2), (1,), 1, 5), delete_retention_ms=DAY_MS)
    rig.put(b"a")
    rig.put(b"a", None)
    rig.put(b"b")
    rig.seal()
    for _ in range(3):
        rig.run(60)
        rig.wait(DAY_MS)
    assert rig.offsets() == [1, 2]
    assert len(rig.begun) == 1, "there is nothing to do"
    rig.partition.on_state(PartitionState((1, 2), (1, 2), 1, 5), NOW)
    rig.hosted.is_fenced = True
    rig.run(60)
    assert rig.offsets() == [1, 2]
    rig.hosted.is_fenced = False
    rig.run(60)
    assert rig.offsets() == [2]


def test_one_that_fails_is_tried_again_later() -> None:
    rig = dirty()
    rig.fails_after = 0
    rig.run(60)
    assert (rig.cleaner.failures, len(rig.begun), rig.begun[0].has_ended) == (1, 1, True)
    assert rig.offsets() == list(range(6))
    rig.fails_after = None
    rig.wait(400_000)
    rig.run(60)
    assert rig.offsets() == [4, 5]


@pytest.mark.parametrize(
    "change",
    [
        lambda rig: rig.partition.following.truncate(3, NOW),
        lambda rig: rig.partition.following.restart_at(100, NOW),
        lambda rig: rig.partition.end(),
    ],
    ids=["cut", "restart", "gone"],
)
def test_a_log_that_changes_meanwhile_is_not_swapped(change: Callable[[CleanerRig], None]) -> None:
    rig = dirty()
    begin = rig.cleaner._begin

    def begin_and_change(job: CleanJob) -> InThisProcess:
        cleaning = begin(job)
        made = [cleaning.next()]
        cleaning.next = lambda: made.pop() if made else CleanReport(0, 0, 0, 0, 0)  # type: ignore[method-assign]
        change(rig)
        return cleaning

    rig.cleaner._begin = begin_and_change
    rig.run()
    assert (rig.cleaner.runs, rig.cleaner.failures) == (0, 0)
    if not rig.partition.is_gone:
        assert left_over(rig) == []


def test_a_log_that_was_cut_since_it_was_looked_at_is_left_alone() -> None:
    rig = dirty()
    (due,) = rig.loop.run(rig.cleaner._due())
    rig.partition.following.restart_at(100, NOW)
    rig.loop.run(rig.cleaner._clean(due))
    assert (rig.begun, rig.cleaner.runs, rig.cleaner.failures) == ([], 0, 0)


def test_a_stop_in_the_midst_of_it_kills_the_process() -> None:
    rig = dirty()
    rig.loop.work_seconds = 1.0
    task = rig.loop.create_task(rig.cleaner.run())
    rig.loop.pass_time(1.5)
    assert len(rig.begun) == 1
    task.cancel()
    rig.loop.pass_time(10)
    assert task.cancelled()
    assert rig.begun[0].has_ended
    assert left_over(rig) == []


def left_over(rig: CleanerRig) -> list[str]:
    return [name for name in rig.disk.listdir(rig.partition.log.path) if name.endswith((".swap", ".cleaned"))]
