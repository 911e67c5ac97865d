"""A member of a consumer group at librdkafka: its subscription, its reads, and the partitions that it is given and loses.

One thread at a time is inside librdkafka's consumer, under `turn`; another one may close it. Only a read tells the group
that this member goes on, and lets partitions move. What is finished and committed is in `commits.py`.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import confluent_kafka
from confluent_kafka import KafkaException, TopicPartition

from headrace.api.errors import Closed, error_of
from headrace.api.options import made
from headrace.api.positions import Places
from headrace.api.process import OfThisProcess

# The group is told of a live member at least once in so long.
DUE_SECONDS = 1.0


class GroupMember(OfThisProcess):
    """`on_gone` is called before partitions go to other members, `on_leaving` before the member leaves its group."""

    def __init__(
        self,
        group: str,
        topics: Sequence[str],
        settings: Mapping[str, object],
        on_gone: Callable[[list[TopicPartition]], None],
        on_leaving: Callable[[], None],
    ) -> None:
        self.group = group
        self.consumer: confluent_kafka.Consumer = made(confluent_kafka.Consumer, settings)
        super().__init__(self.consumer)
        self._topics, self._on_gone, self._on_leaving = list(topics), on_gone, on_leaving
        self.turn = threading.RLock()
        self._is_reading = self._is_to_close = False
        self._polled = 0.0
        self.was_assigned = False
        self.is_closed = False
        self._subscribe()

    def check_open(self) -> None:
        self.check_process()
        if self.is_closed:
            raise Closed(f"this member of {self.group} is closed", "join again with client.join_group()")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A read by this thread: it may let a rebalance happen, and a close that is asked for meanwhile comes after it."""
        with self.turn:
            self.check_open()
            self._is_reading = True
            try:
                yield
            except KafkaException as failure:
                raise error_of(failure, f"reading as {self.group}") from None
            finally:
                self._is_reading = False
            self._polled = time.monotonic()
        if self._is_to_close:
            self.close()

    @property
    def is_due(self) -> bool:
        """Whether the group is to hear of this member again."""
        return time.monotonic() - self._polled >= DUE_SECONDS

    @property
    def assigned(self) -> list[TopicPartition]:
        with self.turn:
            self.check_open()
            return self.consumer.assignment()

    def go_back(self, places: Places) -> None:
        for (topic, partition), offset in places.items():
            with suppress(KafkaException):  # the partition is another member's by now
                self.consumer.seek(TopicPartition(topic, partition, offset))

    def join_again(self) -> None:
        """Begins anew where the group has committed."""
        with self.turn:
            self.consumer.unsubscribe()
            self.was_assigned = False
            self._subscribe()

    def close(self) -> None:
        """Leaves the group. A second close does nothing."""
        with self.turn:
            if self.is_closed or self.is_of_parent:
                return
            if self._is_reading:  # called by a signal handler, amid a read of this thread
                self._is_to_close = True
                return
            try:
                self._on_leaving()
            finally:
                try:
                    self.consumer.close()
                finally:
                    self.is_closed = True

    def close_at_exit(self) -> None:
        self.close()

    def __del__(self) -> None:
        """Leaves the group of a member that was dropped: the others would wait for the end of its session."""
        if not getattr(self, "is_closed", True) and not self.is_of_parent:
            with suppress(Exception):
                self.consumer.close()

    def _subscribe(self) -> None:
        given, gone = self._given, self._gone
        self.consumer.subscribe(self._topics, on_assign=given, on_revoke=gone, on_lost=gone)

    def _given(self, _: confluent_kafka.Consumer, __: list[TopicPartition]) -> None:
        self.was_assigned = True

    def _gone(self, _: confluent_kafka.Consumer, partitions: list[TopicPartition]) -> None:
        self._on_gone(partitions)
