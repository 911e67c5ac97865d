"""Which wall clock retention and expiry go by."""

from headrace.base.clock import Now
from headrace.broker.upkeep.credible_time import CredibleTime

START = Now(1000.0, 1_700_000_000_000)
HOUR, DAY = 3600, 86_400


def after(seconds: float, set_by: float = 0) -> Now:
    return Now(START.mono + seconds, START.wall + int((seconds + set_by) * 1000))


def test_a_clock_that_nobody_sets_is_believed() -> None:
    time = CredibleTime(START)
    for seconds in (0, 0.5, HOUR, 30 * DAY):
        assert time.of(after(seconds)) == after(seconds)


def test_a_clock_that_is_corrected_a_little_is_believed() -> None:
    time = CredibleTime(START)
    assert time.of(after(10, 59)) == after(10, 59)
    assert time.of(after(20, 118)) == after(20, 118)


def test_a_clock_that_is_set_back_is_believed() -> None:
    time = CredibleTime(START)
    assert time.of(after(10, -30 * DAY)) == after(10, -30 * DAY)


def test_a_clock_that_is_set_ahead_is_believed_after_an_hour() -> None:
    time = CredibleTime(START)
    assert time.of(after(10, 8 * DAY)) == after(10)
    assert time.of(after(10 + HOUR - 1, 8 * DAY)) == after(10 + HOUR - 1)
    assert time.of(after(10 + HOUR, 8 * DAY)) == after(10 + HOUR, 8 * DAY)


def test_each_time_it_is_set_ahead_it_is_doubted_for_an_hour() -> None:
    time = CredibleTime(START)
    time.of(after(10, 8 * DAY))
    assert time.of(after(HOUR, 0)) == after(HOUR)
    assert time.of(after(HOUR + 20, 8 * DAY)) == after(HOUR + 20)
    assert time.of(after(2 * HOUR, 8 * DAY)) == after(2 * HOUR)
