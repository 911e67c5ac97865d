"""A producer whose deliveries are results: `send` returns at once, `result()` of what it returned says where it lies.

Idempotent with acks=all, unless the config says otherwise. A full queue holds `send` up until there is room, for
max.block.ms at most, so a sender is never faster than the cluster for long. A delivery that failed and that nobody asked for
is raised by `flush` and `close`.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self, Unpack

from headrace.api.delivery import Delivery, Failures
from headrace.api.options import kafka_config
from headrace.api.room import SETTING, room_seconds, still_full
from headrace.api.send_queue import POLL_SECONDS, SendQueue
from headrace.api.sending import Inject, Prepared, SendOptions, prepared

CLOSE_SECONDS = 60.0
# The partitioner of Java clients, so that a key lies in one partition whoever sends it.
DEFAULTS = {"enable.idempotence": True, "acks": "all", "partitioner": "murmur2_random", "linger.ms": 5}


class Producer:
    """`queue` does the work, and is no part of the API."""

    # As in Java's clients; librdkafka would try for five minutes.
    delivery_defaults: Mapping[str, object] = {"delivery.timeout.ms": 120_000}

    def __init__(
        self, config: Mapping[str, object], inject: Inject | None = None, failures: Failures | None = None
    ) -> None:
        settings = kafka_config(DEFAULTS, self.delivery_defaults, config)
        self.room_seconds = room_seconds(settings)
        settings.pop(SETTING, None)
        self._inject = inject
        self.queue = SendQueue(settings, failures or Failures())

    def send(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        """Hands the message over; raises at once what can be known at once: a closed producer, a value that is none.

        Options are `key`, `headers`, `partition`, `timestamp_ms`, and `schema` for a value as an Avro record.
        """
        message = self.prepared(topic, value, options)
        deadline = time.monotonic() + self.room_seconds
        while not self.queue.offer(message):
            if time.monotonic() > deadline:
                raise still_full(topic, self.room_seconds)
            with self.queue.room.awaited() as told, suppress(TimeoutError):
                told.result(POLL_SECONDS)
        return message.delivery

    def prepared(self, topic: str, value: object, given: SendOptions) -> Prepared:
        """The message of a `send`, which waits for room in a thread or in a task."""
        self.queue.check_open()
        return prepared(topic, value, given, self._inject)

    def flush(self, timeout: float = CLOSE_SECONDS) -> None:
        """Waits until everything sent is answered; raises the first failure that nobody has asked for."""
        self.queue.check_process()
        self.queue.flush_and_check(timeout)

    def close(self) -> None:
        """Takes no more, and flushes; what is not answered then has failed. A second close does nothing."""
        self.queue.close(CLOSE_SECONDS)

    @property
    def is_closed(self) -> bool:
        return self.queue.is_closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
