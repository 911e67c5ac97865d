"""A producer whose deliveries are results: `send` returns at once, `result()` of what it returned says where it lies.

Idempotent with acks=all, unless the config says otherwise. A full queue holds `send` up until there is room, for
max.block.ms at most, so a sender is never faster than the cluster for long. A delivery that failed and that nobody asked for
is raised by `flush` and `close`.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from headrace.api.errors import ApiError, Closed, DeliveryFailed, error_of
from headrace.api.options import kafka_config, logger, made
from headrace.api.room import SETTING, Room, room_seconds, still_full
from headrace.api.values import Schema, to_bytes

POLL_SECONDS = 0.1
CLOSE_SECONDS, PURGE_SECONDS = 60.0, 5.0
# Failures kept until a flush tells of them; of more, their number.
UNSEEN_MAX = 100
Headers = Mapping[str, str | bytes | None]
Inject = Callable[[dict[str, str | bytes | None]], None]
# The partitioner of Java clients, so that a key lies in one partition whoever sends it.
DEFAULTS = {"enable.idempotence": True, "acks": "all", "partitioner": "murmur2_random", "linger.ms": 5}


class Delivered(NamedTuple):
    topic: str
    partition: int
    offset: int


class Delivery:
    """The result of one `send`."""

    def __init__(self) -> None:
        self.future: Future[Delivered] = Future()
        self.future.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel the delivery
        self.is_asked_for = False

    def result(self, timeout: float | None = None) -> Delivered:
        """Waits until the message is stored; raises DeliveryFailed, or TimeoutError while nothing is known yet."""
        self.is_asked_for = True
        return self.future.result(timeout)

    @property
    def done(self) -> bool:
        return self.future.done()


class Prepared(NamedTuple):
    """A message as librdkafka takes it."""

    topic: str
    value: bytes | None
    key: bytes | None
    options: dict[str, Any]
    delivery: Delivery


class Producer:
    def __init__(self, config: Mapping[str, object], inject: Inject | None = None) -> None:
        settings = kafka_config(DEFAULTS, {"logger": logger, "error_cb": _is_told_elsewhere}, config)
        self.room_seconds = room_seconds(settings)
        settings.pop(SETTING, None)
        self._producer = made(confluent_kafka.Producer, settings)
        self._inject = inject
        self.room = Room()
        self._unseen: list[tuple[Delivery, ApiError]] = []
        self._unseen_more = 0
        self._is_closed = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="headrace-producer", daemon=True)
        self._poller.start()

    def send(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        schema: Schema | None = None,
    ) -> Delivery:
        """Hands the message over; raises at once what can be known at once: a closed producer, a value that is none."""
        return self._hand_over(self.prepared(topic, value, key, headers, partition, timestamp_ms, schema))

    def flush(self, timeout: float = CLOSE_SECONDS) -> None:
        """Waits until everything sent is answered; raises the first failure that nobody has asked for."""
        left = self._producer.flush(timeout)
        self.room.tell()
        unseen, more_count = [error for each, error in self._unseen if not each.is_asked_for], self._unseen_more
        self.forget_failures()
        if unseen:
            more_count += len(unseen) - 1
            more = f" (and {more_count} more)" if more_count else ""
            raise DeliveryFailed(f"{unseen[0].cause}{more}", unseen[0].fix, unseen[0].kafka)
        if left:
            raise DeliveryFailed(
                f"{left} messages are unanswered after {timeout:g} s", "see whether the brokers run (headrace status)"
            )

    def close(self) -> None:
        """Flushes first; what is not answered then has failed. A second close does nothing."""
        if self._is_closed.is_set():
            return
        try:
            self.flush()
        finally:
            self._is_closed.set()
            self._poller.join()
            self._producer.purge()
            self._producer.flush(PURGE_SECONDS)
            self.room.tell()

    @property
    def is_closed(self) -> bool:
        return self._is_closed.is_set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # -- for `send`, which waits in a thread or in a task --------------------------------------------------------------

    def prepared(
        self,
        topic: str,
        value: object,
        key: object,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
        schema: Schema | None,
    ) -> Prepared:
        self.check_open()
        delivery = Delivery()
        options: dict[str, Any] = {"on_delivery": lambda error, sent: self._on_delivery(delivery, topic, error, sent)}
        if partition is not None:
            options["partition"] = partition
        if timestamp_ms is not None:
            options["timestamp"] = timestamp_ms
        if sent_headers := self._headers(headers):
            options["headers"] = sent_headers
        return Prepared(topic, to_bytes(value, schema), to_bytes(key), options, delivery)

    def offer(self, message: Prepared) -> bool:
        """Whether the queue has taken it; it has not if it is full."""
        self.check_open()
        try:
            self._producer.produce(message.topic, message.value, message.key, **message.options)
        except BufferError:
            return False
        except KafkaException as failure:
            raise error_of(failure, f"sending to {message.topic}", DeliveryFailed) from None
        return True

    def check_open(self) -> None:
        if self._is_closed.is_set():
            raise Closed("this producer is closed", "send before close(), or make another with client.producer()")

    @property
    def queued(self) -> int:
        """Messages on their way, at most queue.buffering.max.messages, and a few requests and events of librdkafka."""
        return len(self._producer)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _headers(self, headers: Headers | None) -> list[tuple[str, str | bytes | None]]:
        carried = dict(headers or {})
        if self._inject is not None:
            self._inject(carried)
        return list(carried.items())

    def _hand_over(self, message: Prepared) -> Delivery:
        deadline = time.monotonic() + self.room_seconds
        while not self.offer(message):
            if time.monotonic() > deadline:
                raise still_full(message.topic, self.room_seconds)
            with self.room.awaited() as told, suppress(TimeoutError):
                told.result(POLL_SECONDS)
        return message.delivery

    def forget_failures(self) -> None:
        self._unseen, self._unseen_more = [], 0

    def _note(self, delivery: Delivery, failure: ApiError) -> None:
        if len(self._unseen) >= UNSEEN_MAX:
            self._unseen = [(each, error) for each, error in self._unseen if not each.is_asked_for]
        if len(self._unseen) < UNSEEN_MAX:
            self._unseen.append((delivery, failure))
        else:
            self._unseen_more += 1

    def _on_delivery(
        self, delivery: Delivery, topic: str, error: KafkaError | None, sent: confluent_kafka.Message
    ) -> None:
        if error is None:
            partition, offset = sent.partition(), sent.offset()
            assert partition is not None and offset is not None, "what was stored has a place"
            delivery.future.set_result(Delivered(topic, partition, offset))
            return
        failure = error_of(error, f"sending to {topic}", DeliveryFailed)
        self._note(delivery, failure)
        delivery.future.set_exception(failure)

    def _poll(self) -> None:
        while not self._is_closed.is_set():
            try:
                is_served = self._producer.poll(POLL_SECONDS) > 0
            except Exception:  # of a callback in the config; without this thread nothing would be delivered any more
                logger.exception("a callback of a producer failed; fix it, deliveries go on")
                continue
            if is_served:
                self.room.tell()


def _is_told_elsewhere(_: KafkaError) -> None:
    """Fatal errors, as that of a fenced producer, are raised by the calls they fail; without this, by any poll."""
