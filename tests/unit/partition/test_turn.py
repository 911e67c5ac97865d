"""What a turn left to do is carried out once, in its order; one bug, or a lost lease, does not rob the others."""

from typing import Any

from headrace.base.clock import Now
from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.disk.flusher import Flusher
from headrace.broker.turn import Turn
from headrace.partition.ready import Ready
from headrace.partition.waiters import REACHED
from headrace.replica.proposal import Proposal
from headrace.wire.codes import ErrorCode
from quiet_loop import QuietLoop
from sim.host import SimClock


class Stage:
    """A turn whose effects are noted in `seen`; it plays every part itself."""

    def __init__(self) -> None:
        self.loop = QuietLoop()
        self.seen: list[Any] = []
        self.ready: Ready[Any] = Ready()
        self.probes = Probes()
        self.has_lease = True
        self.ask_for_lease = lambda: self.has_lease
        clock = SimClock(self.loop.agenda, "test")
        flusher = Flusher(self.loop, clock, self._run_jobs, self.probes, self.ready.sync, self.seen.append)
        Turn(self.loop, self.ready, flusher, lambda: self.ask_for_lease(), self._propose, self.probes, self.seen.append)

    def _run_jobs(self, jobs: Any, done: Any) -> None:
        self.seen.append("sync")

    def begin_sync(self) -> Any:
        return self

    jobs: tuple[()] = ()

    def _propose(self, partition: Any, proposal: Proposal) -> None:
        self.seen.append(("proposed", partition))

    def is_waiting(self, part: object) -> bool:
        return True

    def on_reached(self, part: object) -> None:
        self.seen.append((part, "reached"))

    def on_lost(self, part: object, code: int) -> None:
        self.seen.append((part, code))


class Sleeper:
    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.name = name

    def wake(self) -> None:
        self.stage.seen.append(self.name)


class Broken(Sleeper):
    def wake(self) -> None:
        raise RuntimeError("a bug")


def test_nothing_is_done_inside_a_call_and_all_of_it_in_its_order_when_the_turn_ends() -> None:
    stage = Stage()
    stage.ready.propose("orders-0", Proposal((1,), {}))
    reader, copier = Sleeper(stage, "reader"), Sleeper(stage, "copier")
    for _ in range(3):
        stage.ready.wake_reader(reader)
        stage.ready.wake_copier(copier)
    stage.ready.tell([(stage, "first", REACHED), (stage, "second", 6)])
    stage.ready.owe_sync(stage)
    assert stage.seen == []
    stage.loop.run_ready()
    assert stage.seen == ["sync", "copier", ("first", "reached"), ("second", 6), "reader", ("proposed", "orders-0")]


def test_what_that_causes_is_due_at_the_end_of_the_next_turn() -> None:
    stage = Stage()

    class Again(Sleeper):
        def wake(self) -> None:
            super().wake()
            stage.ready.wake_reader(Sleeper(stage, "again"))
            stage.seen.append("asleep")

    stage.ready.wake_reader(Again(stage, "once"))
    stage.loop.run_ready()
    assert stage.seen == ["once", "asleep", "again"]


def test_a_bug_of_one_is_counted_and_the_others_are_answered() -> None:
    stage = Stage()
    stage.ready.wake_copier(Broken(stage, "broken"))
    stage.ready.tell([(None, "nobody", REACHED), (stage, "first", REACHED)])
    stage.loop.run_ready()
    assert stage.seen == [("first", "reached")]
    assert stage.probes.handler_failures == 2


def test_a_disk_that_failed_stops_the_broker() -> None:
    stage, failure = Stage(), DiskFailed("EIO")

    class Writer(Sleeper):
        def wake(self) -> None:
            raise failure

    stage.ready.wake_reader(Writer(stage, "writer"))
    stage.loop.run_ready()
    assert stage.seen == [failure]


def test_a_bug_that_leaves_a_turn_half_carried_out_stops_the_broker() -> None:
    """Who was to be told is not told any more: they would wait for ever."""
    stage, bug = Stage(), RuntimeError("a coordinator that cannot be given up")

    def fence() -> bool:
        raise bug

    stage.ask_for_lease = fence
    stage.ready.tell([(stage, "first", REACHED)])
    stage.loop.run_ready()
    assert stage.seen == [bug]


def test_without_a_lease_nobody_is_told_that_an_offset_was_reached() -> None:
    stage = Stage()
    stage.has_lease = False
    stage.ready.tell([(stage, "first", REACHED), (stage, "second", 7)])
    stage.loop.run_ready()
    assert stage.seen == [("first", ErrorCode.NOT_LEADER_OR_FOLLOWER), ("second", 7)]


def test_marks_made_before_anybody_looks_are_not_lost() -> None:
    ready: Ready[str] = Ready()
    ready.owe_sync("orders-0")
    calls: list[Now | None] = []
    ready.on_due(lambda: calls.append(None))
    assert (list(ready.sync), len(calls)) == (["orders-0"], 1)
