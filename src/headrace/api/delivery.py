"""Results of `send`, and the failures of deliveries whose result nobody asked for."""

from concurrent.futures import Future
from typing import NamedTuple

from headrace.api.errors import ApiError, DeliveryFailed

# Failures kept until they are told; of more, their number and their span.
KEPT_MAX = 100


class Delivered(NamedTuple):
    topic: str
    partition: int
    offset: int


class Delivery:
    """The result of one `send`."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.number = 0
        self.future: Future[Delivered] = Future()
        self.future.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel the delivery
        self.is_asked_for = False
        self.is_told = False

    def result(self, timeout: float | None = None) -> Delivered:
        """Waits until the message is stored; raises DeliveryFailed, or TimeoutError while nothing is known yet."""
        self.is_asked_for = True
        return self.future.result(timeout)

    @property
    def done(self) -> bool:
        return self.future.done()


class Failures:
    """Failures that `flush` raises, or the loop whose body sent; not those that the program has asked for."""

    def __init__(self) -> None:
        self._kept: list[tuple[Delivery, ApiError]] = []
        self._more_count = 0
        self._more_from = self._more_to = 0

    def add(self, delivery: Delivery, failure: ApiError) -> None:
        if len(self._kept) >= KEPT_MAX:
            self._kept = [(each, error) for each, error in self._kept if not (each.is_asked_for or each.is_told)]
        if len(self._kept) < KEPT_MAX:
            self._kept.append((delivery, failure))
        else:
            self._more_from = self._more_from if self._more_count else delivery.number
            self._more_to = delivery.number
            self._more_count += 1

    def check_span(self, after: int, to: int) -> None:
        """Raises the first failure of these numbers, so often as it is asked."""
        for delivery, failure in self._kept:
            if after < delivery.number <= to and not delivery.is_asked_for:
                delivery.is_told = True
                raise failure
        if self._more_count and after < self._more_to and to >= self._more_from:
            raise DeliveryFailed(f"{self._more_count} messages could not be stored", "see whether the brokers run")

    def check(self) -> None:
        """Raises the first failure that was not told, and forgets them all."""
        untold = [error for each, error in self._kept if not (each.is_asked_for or each.is_told)]
        more_count = self._more_count
        self.forget()
        if untold:
            more_count += len(untold) - 1
            more = f" (and {more_count} more)" if more_count else ""
            raise DeliveryFailed(f"{untold[0].cause}{more}", untold[0].fix, untold[0].kafka)

    def forget(self) -> None:
        self._kept, self._more_count = [], 0
