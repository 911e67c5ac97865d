"""A disk that hangs is told from one that is slow."""

from typing import Any

import pytest

from headrace.base.errors import DiskFull
from headrace.broker.disk.watch import FORGIVEN_SECONDS, TIMES_OLDEST, DiskWatch
from quiet_loop import QuietLoop

PATIENCE = 2.0
LATE_S = 0.2


class Disk:
    """Operations that take as long as they are told, and small files beside them."""

    def __init__(self) -> None:
        self.loop = QuietLoop()
        self.probes = 0
        self.refuses = False
        threads: Any = None
        self.watch = DiskWatch(self.loop, threads, self._probe, int(PATIENCE * 1000))
        self.loop.create_task(self.watch.run())
        self._done: list[Any] = []

    def _probe(self) -> None:
        self.probes += 1
        if self.refuses:
            raise DiskFull("full")

    def hang(self) -> None:
        """From here on nothing comes back."""
        self.loop.hung = lambda: True

    def answer(self) -> None:
        self.loop.hung = bool

    def begin_sync(self) -> None:
        self.watch.watched(lambda jobs, done: self._done.append(done))([], lambda error: None)

    def end_sync(self) -> None:
        self._done.pop(0)(None)

    def is_hung_after(self, seconds: float) -> bool:
        self.loop.pass_time(seconds)
        return self.watch.is_hung


@pytest.fixture
def disk() -> Disk:
    return Disk()


def test_one_that_is_given_nothing_to_do_does_not_hang(disk: Disk) -> None:
    disk.hang()
    assert not disk.is_hung_after(60.0)
    assert disk.probes == 0, "nor is it asked anything"


def test_one_that_completes_nothing_hangs(disk: Disk) -> None:
    disk.hang()
    disk.begin_sync()
    assert not disk.is_hung_after(PATIENCE * 0.9)
    assert disk.is_hung_after(PATIENCE * 0.6)


def test_work_in_a_thread_counts_as_a_sync_does(disk: Disk) -> None:
    disk.hang()
    disk.loop.create_task(disk.watch.in_thread(lambda: None))
    assert disk.is_hung_after(PATIENCE * 1.5)


def test_a_long_sync_is_no_hang_while_small_files_are_written(disk: Disk) -> None:
    disk.begin_sync()
    assert not disk.is_hung_after(PATIENCE * 4)
    assert disk.probes > 4


def test_a_refusal_is_an_answer(disk: Disk) -> None:
    disk.refuses = True
    disk.begin_sync()
    assert not disk.is_hung_after(PATIENCE * 4)


def test_one_operation_that_never_comes_back_is_a_hang_in_the_end(disk: Disk) -> None:
    disk.begin_sync()
    assert disk.is_hung_after(PATIENCE * (TIMES_OLDEST + 1))
    disk.end_sync()
    assert not disk.is_hung_after(1.0)


def test_syncs_that_come_back_late_but_one_after_the_other_are_no_hang(disk: Disk) -> None:
    disk.hang()
    for _ in range(20):
        disk.begin_sync()
        assert not disk.is_hung_after(PATIENCE * 0.8)
        disk.end_sync()


def test_it_is_as_patient_with_one_that_hung_before_and_counts(disk: Disk) -> None:
    for count in range(1, 4):
        disk.hang()
        disk.begin_sync()
        assert not disk.is_hung_after(PATIENCE * 0.9)
        assert disk.is_hung_after(PATIENCE * 0.6)
        disk.answer()
        disk.end_sync()
        assert not disk.is_hung_after(1.0)
        assert disk.watch.recent_hangs == count
    disk.loop.pass_time(2.5 * FORGIVEN_SECONDS)
    assert disk.watch.recent_hangs == 1
    disk.loop.pass_time(2.5 * FORGIVEN_SECONDS)
    assert disk.watch.recent_hangs == 0


def test_a_process_that_stood_still_has_not_been_let_down(disk: Disk) -> None:
    disk.begin_sync()
    disk.loop.pause()
    disk.loop.pass_time(60.0)
    disk.loop.resume()
    assert not disk.is_hung_after(0.1)


def test_standing_still_again_and_again_is_no_hang_either(disk: Disk) -> None:
    for _ in range(10):
        disk.begin_sync()
        disk.loop.pass_time(PATIENCE / 2)
        disk.loop.pause()
        disk.loop.pass_time(60.0)
        disk.loop.resume()
        assert not disk.is_hung_after(0.1)
        disk.end_sync()


def test_ticks_that_come_late_do_not_add_up(disk: Disk) -> None:
    """On a busy machine every one does."""
    disk.hang()
    disk.begin_sync()
    for _ in range(round(1.5 * PATIENCE / LATE_S / 2)):
        disk.loop.pause()
        disk.loop.pass_time(LATE_S)
        disk.loop.resume()
        disk.loop.pass_time(LATE_S)
    assert disk.watch.is_hung


def test_who_waits_for_it_is_woken(disk: Disk) -> None:
    waiting = disk.loop.create_task(disk.watch.until_hung(60.0))
    disk.hang()
    disk.begin_sync()
    disk.loop.pass_time(PATIENCE * 1.5)
    assert waiting.result()
    answering = disk.loop.create_task(disk.watch.until_answering())
    disk.loop.pass_time(10.0)
    assert not answering.done()
    disk.answer()
    disk.loop.pass_time(1.0)
    assert answering.done()
    assert disk.loop.run(disk.watch.until_hung(1.0)) is False


def test_endless_patience() -> None:
    loop = QuietLoop()
    threads: Any = None
    watch = DiskWatch(loop, threads, lambda: None, 0)
    loop.create_task(watch.run())
    watch.watched(lambda jobs, done: None)([], lambda error: None)
    loop.pass_time(1000.0)
    assert not watch.is_hung
