"""A queue of messages to send: librdkafka's producer, and the thread that serves what it has to tell.

librdkafka tells of a fatal error, as that of a fenced producer, in whichever call serves its events first, and a callback
that runs in that call may be lost. So such a call is made again, and a delivery that lost its callback has failed.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from headrace.api.delivery import Delivered, Delivery, Failures
from headrace.api.errors import ApiError, Closed, DeliveryFailed, error_of
from headrace.api.options import made
from headrace.api.pending import PendingDeliveries
from headrace.api.process import OfThisProcess
from headrace.api.room import Room
from headrace.api.sending import Prepared
from headrace.api.trouble import Trouble

logger = logging.getLogger("headrace.api")

POLL_SECONDS = 0.1
EXIT_SECONDS, PURGE_SECONDS = 10.0, 5.0
# Calls made again when they meet the news of a fatal error.
STRANGE_MAX = 100


class SendQueue(OfThisProcess):
    """`failures` takes those that the program has not asked for."""

    def __init__(self, settings: Mapping[str, object], failures: Failures) -> None:
        self.trouble = Trouble()
        self.producer: confluent_kafka.Producer = made(confluent_kafka.Producer, settings, self.trouble)
        super().__init__(self.producer)
        self.room = Room()
        self._pending = PendingDeliveries()
        self._failures = failures
        self._fatal: KafkaError | None = None
        self.is_doubtful = False
        self._is_closing = False
        self._closed = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="headrace-producer", daemon=True)
        self._poller.start()

    def check_open(self) -> None:
        self.check_process()
        if self._is_closing:
            raise Closed("this producer is closed", "send before close(), or make another with client.producer()")

    def offer(self, message: Prepared) -> bool:
        """Whether the queue has taken it; it has not if it is full."""
        self.check_open()
        topic, value, key, options, delivery = message

        def on_delivery(error: KafkaError | None, sent: confluent_kafka.Message) -> None:
            self._on_delivery(delivery, error, sent)

        try:
            self._pending.take(
                delivery, lambda: self.producer.produce(topic, value, key, on_delivery=on_delivery, **options)
            )
        except BufferError:
            return False
        except KafkaException as failure:
            raise self._told(failure.args[0], topic) from None
        return True

    def flush(self, seconds: float) -> int:
        """Sends what lingers, and waits for it; the number of messages that are left unanswered."""
        deadline = time.monotonic() + seconds
        left = self._served(lambda: self.producer.flush(max(0.0, deadline - time.monotonic())))
        self._fail_lost()
        self.room.tell()
        return left

    # -- for the loops whose bodies send -------------------------------------------------------------------------------

    @property
    def last_number(self) -> int:
        return self._pending.last_number

    def is_stored(self, after: int, to: int) -> bool:
        """Whether these are answered; raises DeliveryFailed for a failure that the program has not asked for."""
        self._failures.check_span(after, to)
        return self._pending.is_answered(to)

    # -- the end -------------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def close(self, seconds: float) -> None:
        """Takes no more, and flushes; what is not answered then has failed. A second close does nothing."""
        if self._is_closing or self.is_of_parent:
            return
        self._is_closing = True
        try:
            self.flush_and_check(seconds)
        finally:
            self._closed.set()
            self._poller.join()
            self.producer.purge()
            self.flush(PURGE_SECONDS)

    def flush_and_check(self, seconds: float) -> None:
        """Raises the first failure that nobody has asked for, or DeliveryFailed while some are unanswered."""
        left = self.flush(seconds)
        self._failures.check()
        if left:
            raise DeliveryFailed(
                f"{left} messages are unanswered after {seconds:g} s",
                "see whether the brokers run (headrace cluster status)",
            )

    def close_at_exit(self) -> None:
        self.close(EXIT_SECONDS)

    # -- what librdkafka tells -----------------------------------------------------------------------------------------

    def note_fatal(self, failure: KafkaException) -> bool:
        """Whether the failure is fatal; the first that is explains what fails after it."""
        error = failure.args[0]
        if not isinstance(error, KafkaError) or not error.fatal():
            return False
        self._fatal, self.is_doubtful = self._fatal or error, True
        return True

    def _on_delivery(self, delivery: Delivery, error: KafkaError | None, sent: confluent_kafka.Message) -> None:
        if error is None:
            partition, offset = sent.partition(), sent.offset()
            assert partition is not None and offset is not None, "what was stored has a place"
            delivery.future.set_result(Delivered(delivery.topic, partition, offset))
        else:
            self._fail(delivery, self._told(error, delivery.topic))
        self._pending.note_answered(delivery)

    def _fail(self, delivery: Delivery, failure: ApiError) -> None:
        self._failures.add(delivery, failure)
        delivery.future.set_exception(failure)

    def _told(self, error: KafkaError, topic: str) -> ApiError:
        """After a fatal error the others are its consequence; without a connection, its trouble is the cause."""
        is_consequence = error.code() in (KafkaError._FATAL, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
        cause = self._fatal if self._fatal and is_consequence else self.trouble.cause_of(error)
        return error_of(cause, f"sending to {topic}", DeliveryFailed)

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

    def _fail_lost(self) -> None:
        """Fails deliveries that librdkafka holds no longer and has not answered."""
        if self.is_doubtful:
            for each in self._pending.lost(lambda: len(self.producer) == 0):
                if not each.done:
                    self._fail(each, self._told(KafkaError(KafkaError._FATAL), each.topic))

    def _poll(self) -> None:
        while not self.is_closed:
            try:
                is_served = self._served(lambda: self.producer.poll(POLL_SECONDS)) > 0
            except BaseException:  # of a callback in the config: without this thread nothing more would be delivered
                logger.exception("a callback of a producer failed; fix it, deliveries go on")
                continue
            if is_served:
                self.room.tell()
            self._fail_lost()
