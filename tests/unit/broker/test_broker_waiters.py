"""Who waits for an offset is told once, in order, when it is reached or never will be."""

from headrace.broker.waiters import SWEPT_FROM, OffsetWaiters


class Waiter:
    def __init__(self) -> None:
        self.told: list[tuple[object, object]] = []
        self.gone: set[object] = set()

    def is_waiting(self, part: object) -> bool:
        return part not in self.gone

    def on_reached(self, part: object) -> None:
        self.told.append((part, "reached"))

    def on_lost(self, part: object, code: int) -> None:
        self.told.append((part, code))


def test_told_at_the_offset_and_not_before() -> None:
    waiters, waiter = OffsetWaiters(), Waiter()
    waiters.add(5, waiter, "a")
    waiters.reach(4)
    assert waiter.told == []
    waiters.reach(5)
    assert waiter.told == [("a", "reached")]
    waiters.reach(9)
    assert len(waiter.told) == 1


def test_in_the_order_of_offsets_also_for_a_duplicate_that_comes_late() -> None:
    waiters, waiter = OffsetWaiters(), Waiter()
    for end_offset, part in ((5, "first"), (9, "third"), (5, "resent"), (7, "second")):
        waiters.add(end_offset, waiter, part)
    waiters.reach(5)
    assert [part for part, _ in waiter.told] == ["first", "resent"]
    waiters.reach(8)
    assert [part for part, _ in waiter.told] == ["first", "resent", "second"]
    assert len(waiters) == 1


def test_all_are_lost_at_once_and_those_who_come_later_are_not() -> None:
    waiters, waiter = OffsetWaiters(), Waiter()
    waiters.add(5, waiter, "a")
    waiters.add(6, waiter, "b")
    waiters.lose_all(6)
    assert waiter.told == [("a", 6), ("b", 6)]
    waiters.add(7, waiter, "c")
    waiters.reach(7)
    assert waiter.told[2:] == [("c", "reached")]


def test_a_waiter_that_waits_again_when_it_is_told() -> None:
    waiters = OffsetWaiters()

    class Again(Waiter):
        def on_reached(self, part: object) -> None:
            super().on_reached(part)
            waiters.add(100, self, "again")

    waiter = Again()
    waiters.add(1, waiter, "once")
    waiters.reach(50)
    assert waiter.told == [("once", "reached")]
    assert len(waiters) == 1


def test_resends_of_what_never_comes_do_not_pile_up() -> None:
    """A producer gives up waiting and sends its batch again, for hours."""
    waiters, waiter = OffsetWaiters(), Waiter()
    waiters.add(9, waiter, "patient")
    for number in range(100_000):
        waiters.add(5, waiter, number)
        waiter.gone.add(number)
    assert len(waiters) <= 2 * SWEPT_FROM
    waiters.reach(9)
    assert waiter.told[-1] == ("patient", "reached")


def test_those_who_wait_are_kept_however_many_they_are() -> None:
    waiters, waiter = OffsetWaiters(), Waiter()
    for number in range(5 * SWEPT_FROM):
        waiters.add(5, waiter, number)
    assert len(waiters) == 5 * SWEPT_FROM
