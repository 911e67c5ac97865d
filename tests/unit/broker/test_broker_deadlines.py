"""Deadlines in virtual time: never early, at most a grain late, and independent of one another."""

import pytest

from headrace.broker.net.deadlines import GRAIN, Deadlines
from quiet_loop import QuietLoop


@pytest.fixture
def loop() -> QuietLoop:
    return QuietLoop()


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.0099, 0.01, 0.5, 3600.0])
def test_never_early_and_at_most_a_grain_late(loop: QuietLoop, seconds: float) -> None:
    loop.pass_time(0.0037)
    begun, fired = loop.time(), []
    Deadlines(loop).after(seconds, lambda: fired.append(loop.time() - begun))
    loop.pass_time(seconds + 2 * GRAIN)
    (late,) = fired
    assert seconds <= late <= seconds + GRAIN + 1e-9


def test_a_deadline_in_the_past_is_now(loop: QuietLoop) -> None:
    fired = []
    Deadlines(loop).after(-5.0, lambda: fired.append(1))
    loop.pass_time(GRAIN)
    assert fired == [1]


def test_cancelled_is_cancelled(loop: QuietLoop) -> None:
    deadlines, fired = Deadlines(loop), []
    deadlines.after(0.5, lambda: fired.append("no")).cancel()
    deadlines.after(0.5, lambda: fired.append("yes"))
    loop.pass_time(1.0)
    assert fired == ["yes"]


def test_one_that_fails_does_not_keep_the_others_waiting(loop: QuietLoop) -> None:
    deadlines, fired = Deadlines(loop), []
    deadlines.after(0.5, lambda: 1 / 0)
    deadlines.after(0.5, lambda: fired.append(1))
    loop.agenda.run(1.0)
    assert fired == [1]
    assert [type(context["exception"]) for context in loop.errors] == [ZeroDivisionError]


def test_one_that_cancels_another_of_its_slot(loop: QuietLoop) -> None:
    deadlines, fired = Deadlines(loop), []
    second = None
    deadlines.after(0.5, lambda: second.cancel())
    second = deadlines.after(0.5, lambda: fired.append("second"))
    loop.pass_time(1.0)
    assert fired == []
