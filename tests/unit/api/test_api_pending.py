"""Deliveries on their way: answered in any order, stored up to a number, lost with their callbacks."""

import pytest

from headrace.api.delivery import Delivery
from headrace.api.pending import PendingDeliveries


def taken(pending: PendingDeliveries, count: int) -> list[Delivery]:
    deliveries = [Delivery("orders") for _ in range(count)]
    for each in deliveries:
        pending.take(each, lambda: None)
    return deliveries


def test_all_up_to_a_number_are_answered_when_the_first_unanswered_is_behind_it() -> None:
    pending = PendingDeliveries()
    first, second, third = taken(pending, 3)
    assert ([each.number for each in (first, second, third)], pending.last_number) == ([1, 2, 3], 3)
    pending.note_answered(second)
    assert [pending.is_answered(to) for to in (0, 1, 2, 3)] == [True, False, False, False]
    pending.note_answered(first)
    assert [pending.is_answered(to) for to in (1, 2, 3)] == [True, True, False]
    pending.note_answered(third)
    assert pending.is_answered(3)


def test_a_delivery_that_was_not_handed_over_is_not_waited_for() -> None:
    pending = PendingDeliveries()

    def full() -> None:
        raise BufferError

    with pytest.raises(BufferError):
        pending.take(Delivery("orders"), full)
    assert (pending.is_answered(1), pending.last_number) == (True, 0)


def test_lost_deliveries_are_taken_out_once_and_only_while_the_queue_is_empty() -> None:
    pending = PendingDeliveries()
    both = taken(pending, 2)
    assert pending.lost(lambda: False) == []
    assert (pending.lost(lambda: True), pending.lost(lambda: True)) == (both, [])
    assert pending.is_answered(2)
