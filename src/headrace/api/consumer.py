"""A member of a consumer group: `for message in consumer` commits a message when its body has finished, never before.

At least once: a message is finished when the loop asks for the next one. A body that raises, a `break`, a process that dies
leave it unfinished: the next loop, or the next member, reads it again. Finished messages are committed every second, when
partitions move to another member, and on close. Only this thread's polls let a rebalance happen, so no partition is taken
away within a body unless the body takes longer than max.poll.interval.ms.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.api.errors import ApiError, Closed, TransactionMisused, error_of
from headrace.api.inbox import Inbox
from headrace.api.loop import POLL_SECONDS, Loop
from headrace.api.message import Message, message_of
from headrace.api.options import kafka_config, logger, made
from headrace.api.positions import Places, Seek

ASK_SECONDS = 30.0
# Messages are read ahead by so many, and the group is told of a live member at least once in so long.
AHEAD_MAX, DUE_SECONDS = 500, 1.0
DEFAULTS = {"enable.auto.commit": True, "auto.commit.interval.ms": 1000, "auto.offset.reset": "earliest"}
# Ours: what is stored for the next commit is what the loop has finished.
FIXED = {"enable.auto.offset.store": False}


class Consumer:
    def __init__(
        self, group: str, topics: Sequence[str], config: Mapping[str, object], stopping: threading.Event | None = None
    ) -> None:
        if not topics:
            raise ApiError(f"the group {group} is to read no topic", "name one or more: join_group(group, 'orders')")
        self.group = group
        own = {"group.id": group, "logger": logger}
        self._consumer = made(confluent_kafka.Consumer, kafka_config(DEFAULTS, config, own, FIXED))
        self._stopping = stopping or threading.Event()
        self._polled = 0.0
        self.inbox = Inbox()
        self.loop: Loop | None = None
        self.is_member = False
        self.is_aborted = False
        self.is_closed = False
        self.is_in_transaction = False
        self._consumer.subscribe(list(topics), on_assign=self._on_given, on_revoke=self._on_gone, on_lost=self._on_gone)

    # -- reading -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Message]:
        return self.messages()

    def messages(self, idle_seconds: float | None = None) -> Iterator[Message]:
        """One by one, without end; with `idle_seconds`, until none has come for so long to a member of the group."""
        for (message,) in self.batches(1, 0.0, idle_seconds):
            yield message

    def batches(
        self, messages_max: int = 500, wait_seconds: float = 0.5, idle_seconds: float | None = None
    ) -> Iterator[list[Message]]:
        """Lists of at least one message, each committed as a whole when its body has finished."""
        loop = Loop(self, messages_max, wait_seconds, idle_seconds)
        while not loop.is_over:
            if batch := loop.ready() or loop.poll():
                yield batch
                loop.finish()

    def commit_offset(self, message: Message) -> None:
        """Commits this message, and all before it in its partition, now: for a loop that ends with `break`."""
        self.check_open()
        self._check_no_transaction("commit_offset")
        place = TopicPartition(message.topic, message.partition, message.offset + 1)
        try:
            self._consumer.commit(offsets=[place], asynchronous=False)
        except KafkaException as failure:
            raise error_of(failure, f"committing {message.place}") from None
        if self.inbox.in_hand.get(message.place_id, message.offset + 1) <= message.offset:
            del self.inbox.in_hand[message.place_id]

    def seek(self, to: Seek, topic: str | None = None, partition: int | None = None) -> None:
        """Goes on elsewhere: an offset, a time, "earliest" or "latest", in all partitions it has or in those named."""
        self.check_open()
        self._check_no_transaction("seek")
        for place in self._found(to, self._chosen(topic, partition)):
            self._consumer.seek(place)
            self.inbox.forget(place.topic, place.partition)

    def pause(self, topic: str | None = None, partition: int | None = None) -> None:
        """No more messages of these partitions until `resume`; the loop stays a member and waits."""
        chosen = self._chosen(topic, partition)
        self._consumer.pause(chosen)
        self._go_back(self.inbox.returned({(each.topic, each.partition) for each in chosen}))

    def resume(self, topic: str | None = None, partition: int | None = None) -> None:
        self._consumer.resume(self._chosen(topic, partition))

    @property
    def assignment(self) -> list[tuple[str, int]]:
        """The partitions that this member reads now."""
        self.check_open()
        return sorted((each.topic, each.partition) for each in self._consumer.assignment())

    def close(self) -> None:
        """Commits what is finished and leaves the group. A second close does nothing."""
        if not self.is_closed:
            self.is_closed = True
            self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # -- for a transaction -------------------------------------------------------------------------------------------

    def places_to_commit(self) -> list[TopicPartition]:
        """The places after what the loop's body has in hand."""
        return [TopicPartition(*id, at) for id, at in self.inbox.places_to_commit().items()]

    def group_metadata(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def on_committed(self) -> None:
        """The transaction has committed what is in hand: the loop has nothing left to commit."""
        self.inbox.in_hand = {}

    def on_aborted(self) -> None:
        """What is in hand is read again, also by a loop that goes on."""
        self.is_aborted = True

    # -- for its loop ------------------------------------------------------------------------------------------------

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def is_due(self) -> bool:
        """Only a read tells the group that this member goes on, and lets partitions move."""
        return time.monotonic() - self._polled >= DUE_SECONDS

    def check_open(self) -> None:
        if self.is_closed:
            raise Closed(f"this member of {self.group} is closed", "join again with client.join_group()")

    def read_more(self, seconds: float) -> None:
        """Waits for one message, if none waits already, and takes those that lie ready behind it."""
        first = self._consumer.consume(1, 0 if self.inbox.waiting else seconds)
        # Not `waiting.extend(consume())`: a rebalance within the call may put another deque in its place.
        self.inbox.waiting.extend(first)
        if first and (room := AHEAD_MAX - len(self.inbox.waiting)) > 0:
            more = self._consumer.consume(room, 0)
            self.inbox.waiting.extend(more)
        self._polled = time.monotonic()

    def grow(self, messages_max: int) -> None:
        """Moves messages that wait to the batch that grows; raises what the cluster said in between."""
        while self.inbox.waiting and len(self.inbox.growing) < messages_max:
            read = self.inbox.waiting.popleft()
            if not self._is_event(read):
                self.inbox.growing.append(message_of(read))

    def finish(self) -> None:
        done, self.inbox.in_hand = self.places_to_commit(), {}
        for place in done:
            try:
                self._consumer.store_offsets(offsets=[place])
            except KafkaException:
                continue  # the partition is another member's by now, which reads the message again

    def read_unfinished_again(self) -> None:
        self._check_no_transaction("a new loop")
        self.is_aborted = False
        self._go_back(self.inbox.taken_back())

    def is_assigned_soon(self) -> bool:
        """Whether this member has partitions; waits POLL_SECONDS for them."""
        self.check_open()
        if self._consumer.assignment():
            return True
        self.read_more(POLL_SECONDS)
        return bool(self._consumer.assignment())

    # -- inside ------------------------------------------------------------------------------------------------------

    def _check_no_transaction(self, call: str) -> None:
        if self.is_in_transaction:
            raise TransactionMisused(
                f"{call}() of a consumer whose transaction is open",
                "its offsets go with the transaction: leave the block",
            )

    def _is_event(self, read: confluent_kafka.Message) -> bool:
        error = read.error()
        if error is None:
            return False
        if error.fatal() or error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, *_REFUSALS):
            raise error_of(error, f"reading {read.topic() or 'as ' + self.group}")
        return True

    def _go_back(self, places: Places) -> None:
        for (topic, partition), offset in places.items():
            try:
                self._consumer.seek(TopicPartition(topic, partition, offset))
            except KafkaException:
                continue  # the partition is another member's by now

    def _on_given(self, _: confluent_kafka.Consumer, __: list[TopicPartition]) -> None:
        self.is_member = True

    def _on_gone(self, _: confluent_kafka.Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self.inbox.forget(each.topic, each.partition)

    def _chosen(self, topic: str | None, partition: int | None) -> list[TopicPartition]:
        deadline = time.monotonic() + ASK_SECONDS
        while not self.is_assigned_soon():
            if time.monotonic() > deadline:
                raise no_partition(self.group)
        assigned = self._consumer.assignment()
        chosen = [each for each in assigned if topic in (None, each.topic) and partition in (None, each.partition)]
        if not chosen:
            raise ApiError(f"this member does not read {topic}, partition {partition}", "see consumer.assignment")
        return chosen

    def _found(self, to: Seek, chosen: list[TopicPartition]) -> list[TopicPartition]:
        if to == "earliest" or to == "latest":
            at = confluent_kafka.OFFSET_BEGINNING if to == "earliest" else confluent_kafka.OFFSET_END
            return [TopicPartition(each.topic, each.partition, at) for each in chosen]
        if isinstance(to, datetime):
            asked = [TopicPartition(each.topic, each.partition, int(to.timestamp() * 1000)) for each in chosen]
            return self._ask(lambda: self._consumer.offsets_for_times(asked, timeout=ASK_SECONDS))
        if isinstance(to, bool) or not isinstance(to, int):
            raise ApiError(f"seek to {to!r}", 'pass an offset, a datetime, "earliest" or "latest"')
        return [TopicPartition(each.topic, each.partition, to) for each in chosen]

    @staticmethod
    def _ask(question: Callable[[], list[TopicPartition]]) -> list[TopicPartition]:
        try:
            return question()
        except KafkaException as failure:
            raise error_of(failure, "looking for the offsets of a time") from None


def no_partition(group: str) -> ApiError:
    return ApiError(f"{group} gave this member no partition", "its topics have fewer than it has members")


_REFUSALS = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError._MAX_POLL_EXCEEDED,
)
