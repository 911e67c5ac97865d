"""Deliveries on their way: numbered in the order in which librdkafka took them, until each is answered."""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress

from headrace.api.delivery import Delivery


class PendingDeliveries:
    def __init__(self) -> None:
        # By number, in their order, which the lock keeps.
        self._by_number: dict[int, Delivery] = {}
        self._numbers = itertools.count(1)
        self._taking = threading.RLock()  # a signal handler may send, too
        self.last_number = 0

    def take(self, delivery: Delivery, hand_over: Callable[[], None]) -> None:
        """Notes a delivery before it is handed over, as it may be answered at once; not if handing over fails."""
        with self._taking:
            number = delivery.number = next(self._numbers)
            self._by_number[number] = delivery
            try:
                hand_over()
            except BaseException:
                self._by_number.pop(number, None)
                raise
            self.last_number = max(number, self.last_number)

    def note_answered(self, delivery: Delivery) -> None:
        self._by_number.pop(delivery.number, None)

    def is_answered(self, to: int) -> bool:
        """Whether all up to this number are answered."""
        with suppress(StopIteration, RuntimeError):  # the latter: another is answered at this moment
            return next(iter(self._by_number)) > to
        return not self._by_number

    def lost(self, is_empty: Callable[[], bool]) -> list[Delivery]:
        """Takes out the deliveries that nobody will answer any more: all of them, if librdkafka's queue is empty."""
        with self._taking:
            if not is_empty():
                return []
            lost, self._by_number = list(self._by_number.values()), {}
        return lost
