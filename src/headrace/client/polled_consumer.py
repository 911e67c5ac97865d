"""A confluent-kafka Consumer on a thread of its own, which alone touches it: it polls, and does what the event loop orders.

confluent-kafka lets one thread into a consumer at a time and others spin, so a second caller would have to wait for the
poll to end. While the consumer is used, polls are short and orders are done soon.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Message

logger = logging.getLogger("headrace.client")

CONSUMER_CLOSE_SECONDS_MAX = 15.0
Order = Callable[[Consumer], object]


class Pace(NamedTuple):
    """The longest poll, the longest one while the consumer is used, and how long it counts as used."""

    idle_seconds: float
    busy_seconds: float
    busy_for_seconds: float


class PolledConsumer:
    """`turn` is called again and again on the thread; it polls, or nothing is read."""

    def __init__(
        self,
        config: dict[str, Any],
        turn: Callable[[], object],
        *,
        pace: Pace,
        on_failure: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self.consumer = Consumer({"log_level": 0, "error_cb": _ignore, **config})
        self._turn = turn
        self._pace = pace
        self._on_failure = on_failure
        self._orders: deque[Order] = deque()
        self._busy_until = 0.0
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-consumer", daemon=True)

    # -- for the event loop ------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        """Leaves the group. A consumer that does not let go in time is left to end with the process."""
        self._stopping.set()
        if not self._thread.is_alive():
            return
        try:
            async with asyncio.timeout(CONSUMER_CLOSE_SECONDS_MAX):
                await self._ended.wait()
        except TimeoutError:
            pass

    def order(self, what: Order) -> None:
        """Has the thread do it soon, and does not wait: after a commit that fails, messages are read again."""
        self._orders.append(what)

    def use(self) -> None:
        """Notes that orders are to come, so that polls are short."""
        self._busy_until = time.monotonic() + self._pace.busy_for_seconds

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    # -- for the thread ----------------------------------------------------------------------------------------------

    def poll(self) -> Message | None:
        self.do_orders()
        is_busy = time.monotonic() < self._busy_until
        return self.consumer.poll(self._pace.busy_seconds if is_busy else self._pace.idle_seconds)

    def do_orders(self) -> None:
        while self._orders:
            self.use()
            try:
                self._orders.popleft()(self.consumer)
            except KafkaException as error:
                logger.info("not done by the consumer: %(cause)s", {"cause": error})

    def tell(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Calls a function on the event loop."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            pass  # the loop has ended before us

    def _run(self) -> None:
        try:
            while not self.is_stopping:
                self._turn()
            self.do_orders()
        except Exception as error:
            logger.exception("a consumer failed")
            self._on_failure(error)
        finally:
            self.consumer.close()
            self.tell(self._ended.set)


def _ignore(_: object) -> None:
    """Drops an error of librdkafka, which tries again by itself; errors of a partition come as messages."""
