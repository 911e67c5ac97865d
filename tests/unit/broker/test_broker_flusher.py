"""Group commit: one round at a time, later writes in the next, and after a failure none."""

import pytest

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.disk.flusher import Flusher
from headrace.broker.disk.sync_threads import THREADS, SyncThreads
from quiet_loop import QuietLoop
from sim.host import SimClock


class Ticket:
    def __init__(self, jobs: list) -> None:
        self.jobs = jobs


class Syncable:
    """Counts writes; a ticket proves those that were there when it was made."""

    def __init__(self, files: int = 1) -> None:
        self.written = 0
        self.synced = 0
        self.files = files
        self.jobs_run = 0
        self.fails_with: Exception | None = None
        self._is_in_flight = False

    def begin_sync(self) -> Ticket | None:
        assert not self._is_in_flight, "one sync at a time"
        if self.synced == self.written:
            return None
        self._is_in_flight = True
        ticket = Ticket([self._job] * self.files)
        ticket.target = self.written
        return ticket

    def _job(self) -> None:
        self.jobs_run += 1
        if self.fails_with is not None:
            raise self.fails_with

    def on_synced(self, ticket: Ticket) -> None:
        self._is_in_flight = False
        self.synced = ticket.target


class Rounds:
    """A flusher, and what it told its node."""

    def __init__(self) -> None:
        self.loop = QuietLoop()
        self.probes = Probes()
        self.failures: list[BaseException] = []
        clock = SimClock(self.loop.agenda, "test")
        run_jobs = SyncThreads(self.loop, clock, None).run
        self.dirty: dict[Syncable, None] = {}
        self.flusher = Flusher(self.loop, clock, run_jobs, self.probes, self.dirty, self.failures.append)

    def write(self, syncable: Syncable) -> None:
        syncable.written += 1
        self.dirty[syncable] = None
        self.loop.call_soon(self.flusher.begin)


@pytest.fixture
def rounds() -> Rounds:
    return Rounds()


def test_all_that_one_turn_made_dirty_share_a_round(rounds: Rounds) -> None:
    syncables = [Syncable() for _ in range(5)]
    for syncable in syncables:
        rounds.write(syncable)
        rounds.write(syncable)
    rounds.loop.run_ready()
    assert [each.synced for each in syncables] == [2] * 5
    assert (rounds.probes.sync_rounds.count, rounds.probes.sync_files) == (1, 5)


def test_a_write_that_lands_while_a_round_runs_waits_for_the_next(rounds: Rounds) -> None:
    first, late = Syncable(), Syncable()
    rounds.write(first)
    original = first._job

    def job_with_a_write_beside_it() -> None:
        original()
        if first.jobs_run == 1:
            rounds.write(first)
            rounds.write(late)

    first._job = job_with_a_write_beside_it
    rounds.loop.run_ready()
    assert rounds.probes.sync_rounds.count == 2
    assert (first.synced, late.synced) == (2, 1)


def test_a_write_that_an_acknowledgement_brings_about_begins_one_round(rounds: Rounds) -> None:
    first, second = Syncable(), Syncable()
    rounds.loop.work_seconds = 0.01
    rounds.write(first)
    original = first.on_synced

    def acknowledge(ticket: Ticket) -> None:
        original(ticket)
        # A coordinator, say, that goes on with its next step; and a client that asks for more in the same turn.
        rounds.loop.call_soon(rounds.write, second)
        rounds.write(second)

    first.on_synced = acknowledge
    rounds.loop.pass_time(1.0)
    assert rounds.failures == []
    assert (first.synced, second.synced) == (1, 2)


@pytest.mark.parametrize("files", [1, THREADS - 1, THREADS, THREADS + 1, 5 * THREADS])
def test_every_file_is_synced_once_however_many(rounds: Rounds, files: int) -> None:
    syncable = Syncable(files)
    rounds.write(syncable)
    rounds.loop.run_ready()
    assert syncable.jobs_run == files
    assert syncable.synced == 1


def test_nothing_is_acknowledged_after_a_failure_and_nothing_tried_again(rounds: Rounds) -> None:
    good, bad = Syncable(), Syncable()
    bad.fails_with = DiskFailed("EIO")
    rounds.write(good)
    rounds.write(bad)
    rounds.loop.run_ready()
    assert rounds.failures == [bad.fails_with]
    assert (good.synced, bad.synced) == (0, 0)
    bad.fails_with = None
    rounds.write(bad)
    rounds.loop.run_ready()
    assert (bad.jobs_run, bad.synced) == (1, 0)


def test_a_bug_in_the_midst_of_a_round_stops_the_node(rounds: Rounds) -> None:
    """Half of the round told and half not: going on would leave the other half waiting for ever."""
    syncable = Syncable()
    syncable.on_synced = lambda ticket: 1 / 0
    rounds.write(syncable)
    rounds.loop.run_ready()
    assert [type(failure) for failure in rounds.failures] == [ZeroDivisionError]


def test_a_round_that_cannot_begin_stops_the_node(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system gives no more threads, say: taken for one that runs, it would be waited for, and every ack with it."""
    refusal = RuntimeError("can't start new thread")

    def refuse(*work: object) -> None:
        raise refusal

    monkeypatch.setattr(rounds.loop, "run_in_executor", refuse)
    rounds.write(Syncable())
    rounds.loop.run_ready()
    assert rounds.failures == [refusal]
    with pytest.raises(RuntimeError, match="new thread"):
        rounds.loop.run(rounds.flusher.until_idle())


def test_until_idle_waits_for_the_last_round(rounds: Rounds) -> None:
    syncable = Syncable()
    rounds.loop.run(rounds.flusher.until_idle())
    rounds.write(syncable)
    rounds.loop.run(rounds.flusher.until_idle())
    assert syncable.synced == 1


def test_until_idle_raises_what_keeps_it_from_ever_being(rounds: Rounds) -> None:
    syncable = Syncable()
    syncable.fails_with = DiskFailed("EIO")
    rounds.write(syncable)
    for _ in range(2):
        with pytest.raises(DiskFailed):
            rounds.loop.run(rounds.flusher.until_idle())


def test_quick_files_share_a_thread_and_slow_ones_do_not(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    start = rounds.loop.run_in_executor
    monkeypatch.setattr(rounds.loop, "run_in_executor", lambda *work: threads.append(1) or start(*work))

    def threads_of_a_round(file_seconds: float) -> int:
        rounds.loop.work_seconds = file_seconds
        for _ in range(200):
            threads.clear()
            rounds.write(syncable)
            rounds.loop.pass_time(1.0)
        return len(threads)

    syncable = Syncable(files=8)
    assert threads_of_a_round(0.0) == 1
    assert threads_of_a_round(0.02) == 8
