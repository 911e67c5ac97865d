"""Room in a producer's queue: senders that found it full wait here until a delivery has left it."""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from headrace.api.errors import ApiError, DeliveryFailed

# As in Java's producer.
SETTING, DEFAULT_MS = "max.block.ms", 60_000


def room_seconds(config: Mapping[str, object]) -> float:
    """How long a send waits for room."""
    given = config.get(SETTING, DEFAULT_MS)
    with suppress(TypeError, ValueError):
        if (milliseconds := float(str(given))) >= 0:
            return milliseconds / 1000
    raise ApiError(f"{SETTING} is {given!r}", "give milliseconds: 60000")


def still_full(topic: str, seconds: float) -> DeliveryFailed:
    return DeliveryFailed(
        f"sending to {topic}: the queue is full (queue.buffering.max.messages) and had no room for {seconds:g} s",
        f"send less at once, see whether the brokers run (headrace cluster status), or raise {SETTING}",
    )


class Room:
    def __init__(self) -> None:
        self._waiting: deque[Future[None]] = deque()

    @contextmanager
    def awaited(self) -> Iterator[Future[None]]:
        """A result that comes with the next deliveries; a waiter that gives up is forgotten."""
        waiter: Future[None] = Future()
        waiter.set_running_or_notify_cancel()  # a task that is cancelled must not cancel it
        self._waiting.append(waiter)
        try:
            yield waiter
        finally:
            with suppress(ValueError):
                self._waiting.remove(waiter)

    def tell(self) -> None:
        while self._waiting:
            with suppress(IndexError):
                self._waiting.popleft().set_result(None)
