"""Who waits for an offset is told once, in order, when it is reached or never will be."""

from headrace.partition.waiters import REACHED, SWEPT_FROM, OffsetWaiters, Told


class Waiter:
    def __init__(self) -> None:
        self.gone: set[object] = set()

    def is_waiting(self, part: object) -> bool:
        return part not in self.gone

    def on_reached(self, part: object) -> None:
        raise AssertionError("the shell tells")

    def on_lost(self, part: object, code: int) -> None:
        raise AssertionError("the shell tells")


def parts(told: list[Told]) -> list[object]:
    assert {code for _, _, code in told} <= {REACHED}
    return [part for _, part, _ in told]


def test_told_at_the_offset_and_not_before() -> None:
    waiters = OffsetWaiters()
    waiters.add(5, Waiter(), "a")
    assert parts(waiters.reach(4)) == []
    assert parts(waiters.reach(5)) == ["a"]
    assert parts(waiters.reach(9)) == []


def test_in_the_order_of_offsets_also_for_a_duplicate_that_comes_late() -> None:
    waiters, waiter = OffsetWaiters(), Waiter()
    for end_offset, part in ((5, "first"), (9, "third"), (5, "resent"), (7, "second")):
        waiters.add(end_offset, waiter, part)
    assert parts(waiters.reach(5)) == ["first", "resent"]
    assert parts(waiters.reach(8)) == ["second"]
    assert len(waiters) == 1


def test_all_are_lost_at_once_and_those_who_come_later_are_not() -> None:
    waiters, waiter = OffsetWaiters(), Waiter()
    waiters.add(5, waiter, "a")
    waiters.add(6, waiter, "b")
    assert waiters.lose_all(6) == [(waiter, "a", 6), (waiter, "b", 6)]
    waiters.add(7, waiter, "c")
    assert parts(waiters.reach(7)) == ["c"]


def test_resends_of_what_never_comes_do_not_pile_up() -> None:
    """A producer gives up waiting and sends its batch again, for hours."""
    waiters, waiter = OffsetWaiters(), Waiter()
    waiters.add(9, waiter, "patient")
    for number in range(100_000):
        waiters.add(5, waiter, number)
        waiter.gone.add(number)
    assert len(waiters) <= 2 * SWEPT_FROM
    assert parts(waiters.reach(9))[-1] == "patient"


def test_those_who_wait_are_kept_however_many_they_are() -> None:
    waiters, waiter = OffsetWaiters(), Waiter()
    for number in range(5 * SWEPT_FROM):
        waiters.add(5, waiter, number)
    assert len(waiters) == 5 * SWEPT_FROM
