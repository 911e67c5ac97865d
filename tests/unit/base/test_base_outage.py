"""How often a failure that lasts is told, by the clock."""

from headrace.base.outage import TELL_SECONDS, Outage


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_failure_is_told_at_first_then_once_a_minute_and_its_end_once() -> None:
    clock = Clock()
    outage = Outage(clock)
    told = []
    for _ in range(3 * int(TELL_SECONDS)):
        told.append(outage.is_news())
        clock.now += 1.0
    assert [second for second, each in enumerate(told) if each] == [0, TELL_SECONDS, 2 * TELL_SECONDS]
    assert [outage.has_ended() for _ in range(3)] == [True, False, False]


def test_one_that_comes_and_goes_is_told_once_a_minute_with_its_end() -> None:
    clock = Clock()
    outage = Outage(clock)
    told = []
    for _ in range(int(TELL_SECONDS)):
        told.append((outage.is_news(), outage.has_ended()))
        clock.now += 1.0
    assert told == [(True, True)] + [(False, False)] * (int(TELL_SECONDS) - 1)
    assert outage.is_news()


def test_what_never_failed_does_not_end() -> None:
    assert not Outage(Clock()).has_ended()
