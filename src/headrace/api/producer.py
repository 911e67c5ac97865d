"""A producer whose deliveries are results: `send` returns at once, `result()` of what it returned says where it lies.

Idempotent with acks=all, unless the config says otherwise. A full queue holds `send` up until there is room, for
max.block.ms at most, so a sender is never faster than the cluster for long. A delivery that failed and that nobody asked for
is raised by `flush` and `close`.

librdkafka tells of a fatal error, as that of a fenced producer, in whichever call serves its events first, and a callback
that runs in that call may be lost. So such a call is made again, and a delivery that lost its callback has failed.
"""

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self, Unpack

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from headrace.api.delivery import Delivered, Delivery, Failures
from headrace.api.errors import ApiError, Closed, DeliveryFailed, error_of
from headrace.api.options import kafka_config, logger, made
from headrace.api.process import OfThisProcess
from headrace.api.room import SETTING, Room, room_seconds, still_full
from headrace.api.sending import Inject, Prepared, SendOptions, prepared

PRODUCER_POLL_SECONDS = 0.1
CLOSE_SECONDS, EXIT_SECONDS, PURGE_SECONDS = 60.0, 10.0, 5.0
# Calls made again when they meet the news of a fatal error.
STRANGE_MAX = 100
# The partitioner of Java clients, so that a key lies in one partition whoever sends it.
DEFAULTS = {"enable.idempotence": True, "acks": "all", "partitioner": "murmur2_random", "linger.ms": 5}


class Producer(OfThisProcess):
    # As in Java's clients; librdkafka would try for five minutes.
    delivery_defaults: Mapping[str, object] = {"delivery.timeout.ms": 120_000}

    def __init__(self, config: Mapping[str, object], inject: Inject | None = None) -> None:
        settings = kafka_config(DEFAULTS, self.delivery_defaults, config)
        self.room_seconds = room_seconds(settings)
        settings.pop(SETTING, None)
        self._producer = made(confluent_kafka.Producer, settings)
        super().__init__(self._producer)
        self._inject = inject
        self.room = Room()
        # By number, in their order: what is on its way. The lock keeps that order.
        self._pending: dict[int, Delivery] = {}
        self._numbers, self._last_number = itertools.count(1), 0
        self._numbering = threading.RLock()  # a signal handler may send, too
        self.failures = Failures()
        self._fatal: KafkaError | None = None
        self.is_doubtful = False
        self._is_closing = False
        self._is_closed = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="headrace-producer", daemon=True)
        self._poller.start()

    def send(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        """Hands the message over; raises at once what can be known at once: a closed producer, a value that is none.

        Options are `key`, `headers`, `partition`, `timestamp_ms`, and `schema` for a value as an Avro record.
        """
        return self._hand_over(self.prepared(topic, value, options))

    def flush(self, timeout: float = CLOSE_SECONDS) -> None:
        """Waits until everything sent is answered; raises the first failure that nobody has asked for."""
        self.check_process()
        left = self._flushed(timeout)
        self.room.tell()
        self.failures.check()
        if left:
            raise DeliveryFailed(
                f"{left} messages are unanswered after {timeout:g} s",
                "see whether the brokers run (headrace cluster status)",
            )

    def close(self) -> None:
        """Takes no more, and flushes; what is not answered then has failed. A second close does nothing."""
        self._close_within(CLOSE_SECONDS)

    def close_at_exit(self) -> None:
        self._close_within(EXIT_SECONDS)

    def _close_within(self, seconds: float) -> None:
        if self._is_closing or self.is_of_parent:
            return
        self._is_closing = True
        try:
            self.flush(seconds)
        finally:
            self._is_closed.set()
            self._poller.join()
            self._producer.purge()
            self._flushed(PURGE_SECONDS)
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

    def prepared(self, topic: str, value: object, given: SendOptions) -> Prepared:
        self.check_open()
        return prepared(topic, value, given, self._inject)

    def offer(self, message: Prepared) -> bool:
        """Whether the queue has taken it; it has not if it is full."""
        self.check_open()
        delivery = message.delivery

        def on_delivery(error: KafkaError | None, sent: confluent_kafka.Message) -> None:
            self._on_delivery(delivery, error, sent)

        with self._numbering:
            number = delivery.number = next(self._numbers)
            self._pending[number] = delivery
            try:
                self._producer.produce(
                    message.topic, message.value, message.key, on_delivery=on_delivery, **message.options
                )
            except BaseException as failure:
                self._pending.pop(number, None)
                if isinstance(failure, BufferError):
                    return False
                if isinstance(failure, KafkaException):
                    raise self._told(failure.args[0], message.topic) from None
                raise
            self._last_number = max(number, self._last_number)
        return True

    def check_open(self) -> None:
        self.check_process()
        if self._is_closing:
            raise Closed("this producer is closed", "send before close(), or make another with client.producer()")

    # -- for the loops whose bodies send -------------------------------------------------------------------------------

    @property
    def last_number(self) -> int:
        return self._last_number

    def is_stored(self, after: int, to: int) -> bool:
        """Whether these are answered; raises DeliveryFailed for a failure that the program has not asked for."""
        self.failures.check_span(after, to)
        with suppress(StopIteration, RuntimeError):  # the latter: another is answered at this moment
            return next(iter(self._pending)) > to
        return not self._pending

    @property
    def queued(self) -> int:
        """Messages on their way, at most queue.buffering.max.messages, and a few requests and events of librdkafka."""
        return len(self._producer)

    def push(self, seconds: float) -> None:
        """Sends what lingers, and waits for it."""
        self._flushed(seconds)
        self.room.tell()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _hand_over(self, message: Prepared) -> Delivery:
        deadline = time.monotonic() + self.room_seconds
        while not self.offer(message):
            if time.monotonic() > deadline:
                raise still_full(message.topic, self.room_seconds)
            with self.room.awaited() as told, suppress(TimeoutError):
                told.result(PRODUCER_POLL_SECONDS)
        return message.delivery

    def _on_delivery(self, delivery: Delivery, error: KafkaError | None, sent: confluent_kafka.Message) -> None:
        if error is None:
            partition, offset = sent.partition(), sent.offset()
            assert partition is not None and offset is not None, "what was stored has a place"
            delivery.future.set_result(Delivered(delivery.topic, partition, offset))
        else:
            self._fail(delivery, self._told(error, delivery.topic))
        self._pending.pop(delivery.number, None)

    def _fail(self, delivery: Delivery, failure: ApiError) -> None:
        self.note_failure(delivery, failure)
        delivery.future.set_exception(failure)

    def _told(self, error: KafkaError, topic: str) -> ApiError:
        """After a fatal error the others are its consequence."""
        is_consequence = error.code() in (KafkaError._FATAL, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
        return error_of(self._fatal if self._fatal and is_consequence else error, f"sending to {topic}", DeliveryFailed)

    def note_failure(self, delivery: Delivery, failure: ApiError) -> None:
        self.failures.add(delivery, failure)

    def note_fatal(self, failure: KafkaException) -> bool:
        error = failure.args[0]
        if not isinstance(error, KafkaError) or not error.fatal():
            return False
        self._fatal, self.is_doubtful = self._fatal or error, True
        return True

    def _served(self, call: Callable[[], int]) -> int:
        """The result of a call that serves events, made again when it meets the news of a fatal error."""
        for attempt in itertools.count(1):
            try:
                return call()
            except KafkaException as failure:
                if not self.note_fatal(failure) or attempt > STRANGE_MAX:
                    raise
            except SystemError:  # confluent-kafka's, of a callback that runs in a call that has met the fatal error
                self.is_doubtful = True
                if attempt > STRANGE_MAX:
                    raise
            except BaseException:
                self.is_doubtful = True
                raise
        raise AssertionError("counts without end")

    def _flushed(self, seconds: float) -> int:
        """How many are left unanswered."""
        deadline = time.monotonic() + seconds
        left = self._served(lambda: self._producer.flush(max(0.0, deadline - time.monotonic())))
        self._fail_lost()
        return left

    def _fail_lost(self) -> None:
        """Fails deliveries that librdkafka holds no longer and has not answered."""
        if not self.is_doubtful:
            return
        with self._numbering:
            if len(self._producer) > 0:
                return
            lost, self._pending = list(self._pending.values()), {}
        for each in lost:
            if not each.done:
                self._fail(each, self._told(KafkaError(KafkaError._FATAL), each.topic))

    def _poll(self) -> None:
        while not self._is_closed.is_set():
            try:
                is_served = self._served(lambda: self._producer.poll(PRODUCER_POLL_SECONDS)) > 0
            except (
                BaseException
            ):  # of a callback in the config; without this thread nothing would be delivered any more
                logger.exception("a callback of a producer failed; fix it, deliveries go on")
                continue
            if is_served:
                self.room.tell()
            self._fail_lost()
