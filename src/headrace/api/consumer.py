"""A member of a consumer group: `for message in consumer` commits a message when its body has finished, never before.

At least once: a message is finished when the loop asks for the next one. A body that raises, a `break`, a process that dies
leave it unfinished: the next loop, or the next member, reads it again. Finished messages are committed every second, when
partitions move to another member, and on close. Only this thread's polls let a rebalance happen, so no partition is taken
away within a body unless the body takes longer than max.poll.interval.ms. What a body sent with a producer of the same
client is stored before its message is committed, whether or not the body waited for it.

Other threads may close a consumer, pause it or seek; one thread at a time reads.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.api.checks import check_name
from headrace.api.errors import ApiError, Closed, DeliveryFailed, TransactionMisused, error_of
from headrace.api.events import is_event
from headrace.api.finished import Batch, Finished
from headrace.api.inbox import Inbox
from headrace.api.loop import POLL_SECONDS, Loop
from headrace.api.message import Message, message_of
from headrace.api.options import kafka_config, made
from headrace.api.outputs import LoopOutput, Outputs
from headrace.api.positions import Places, Seek
from headrace.api.process import OfThisProcess
from headrace.api.seeking import ASK_SECONDS, places_for

# How long the end of a member, or of its hold on a partition, waits for what its bodies sent.
CLOSE_SECONDS, REVOKE_SECONDS = 60.0, 5.0
OUTAGE_ASK_SECONDS = 5.0
# Messages are read ahead by so many, and the group is told of a live member at least once in so long.
AHEAD_MAX, DUE_SECONDS = 500, 1.0
DEFAULTS = {"enable.auto.commit": True, "auto.commit.interval.ms": 1000, "auto.offset.reset": "earliest"}
# Ours: what is stored for the next commit is what the loop has finished.
FIXED = {"enable.auto.offset.store": False}
Result = TypeVar("Result")


class Consumer(OfThisProcess):
    def __init__(
        self,
        group: str,
        topics: Sequence[str],
        config: Mapping[str, object],
        stopping: threading.Event | None = None,
        outputs: Outputs | None = None,
    ) -> None:
        if not topics:
            raise ApiError(f"the group {group} is to read no topic", "name one or more: join_group(group, 'orders')")
        self.group = check_name("group", group, 'join_group("billing", "orders")')
        self._topics = [check_name("topic", each, 'join_group("billing", "orders", "returns")') for each in topics]
        own = {"group.id": group}
        settings = kafka_config(DEFAULTS, config, own, FIXED)
        self._commits_by_itself = str(settings["enable.auto.commit"]).lower() == "true"
        self._consumer = made(confluent_kafka.Consumer, settings)
        super().__init__(self._consumer)
        self._stopping = stopping or threading.Event()
        self._outputs = outputs or Outputs()
        self._sent_before: dict[LoopOutput, int] = {}
        self._finished = Finished(self._store)
        # Nobody may close the consumer while another thread is inside it.
        self._turn = threading.RLock()
        self._is_reading = False
        self._is_to_close = False
        # What the next commit by itself would commit.
        self._stored: Places = {}
        self._polled = 0.0
        self.inbox = Inbox()
        self.loop: Loop | None = None
        self.is_member = False
        self.is_aborted = False
        self.is_torn = False
        self.is_closed = False
        self.is_in_transaction = False
        self._subscribe()

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
            if batch := self._unbroken(loop.ready) or self._unbroken(loop.poll):
                yield batch
                self._unbroken(loop.finish)

    def commit_offset(self, message: Message) -> None:
        """Commits this message, and all before it in its partition, now: for a loop that ends with `break`."""
        if not isinstance(message, Message):
            raise ApiError(f"{message!r} is no message", "pass one that the loop gave")
        self.check_open()
        self._check_no_transaction("commit_offset()")
        self._finished.store_within(CLOSE_SECONDS)
        after = message.offset + 1
        with self._turn:
            try:
                place = TopicPartition(message.topic, message.partition, after)
                self._consumer.commit(offsets=[place], asynchronous=False)
            except KafkaException as failure:
                raise error_of(failure, f"committing {message.place}") from None
            if self._stored.get(message.place_id, after) < after:
                self._store({message.place_id: after})  # the next commit by itself would go back to what it stored
            if self.inbox.in_hand.get(message.place_id, after) <= message.offset:
                del self.inbox.in_hand[message.place_id]

    def seek(self, to: Seek, topic: str | None = None, partition: int | None = None) -> None:
        """Goes on elsewhere: an offset, a time, "earliest" or "latest", in all partitions it has or in those named."""
        self.check_open()
        self._check_no_transaction("seek()")
        with self._turn:
            for place in places_for(to, self._chosen(topic, partition), self._consumer):
                self._consumer.seek(place)
                self.inbox.forget(place.topic, place.partition)
                if (place.topic, place.partition) in self._stored:
                    self._stored[place.topic, place.partition] = 0  # whatever is committed from here on comes after it

    def pause(self, topic: str | None = None, partition: int | None = None) -> None:
        """No more messages of these partitions until `resume`; the loop stays a member and waits."""
        with self._turn:
            chosen = self._chosen(topic, partition)
            self._consumer.pause(chosen)
            self._go_back(self.inbox.returned({(each.topic, each.partition) for each in chosen}))

    def resume(self, topic: str | None = None, partition: int | None = None) -> None:
        with self._turn:
            self._consumer.resume(self._chosen(topic, partition))

    @property
    def assignment(self) -> list[tuple[str, int]]:
        """The partitions that this member reads now."""
        with self._turn:
            self.check_open()
            return sorted((each.topic, each.partition) for each in self._consumer.assignment())

    def close(self) -> None:
        """Commits what is finished and leaves the group. A second close does nothing."""
        with self._turn:
            if self.is_closed or self.is_of_parent:
                return
            if self._is_reading:  # called by a signal handler, amid a read of this thread
                self._is_to_close = True
                return
            try:
                self._finished.store_within(CLOSE_SECONDS)
            finally:
                try:
                    self._consumer.close()
                finally:
                    self.is_closed = True

    def close_at_exit(self) -> None:
        self.close()

    def __del__(self) -> None:
        """One that was dropped leaves its group, as the others would wait for its session's end."""
        if not getattr(self, "is_closed", True) and not self.is_of_parent:
            with suppress(Exception):
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

    def commit_finished(self) -> None:
        """Before a transaction: a commit of what was finished outside of one must not come after it, and undo it."""
        self._finished.store_within(CLOSE_SECONDS)
        with self._turn:
            self.check_open()
            if not (self._stored and self._commits_by_itself):
                return
            try:
                self._consumer.commit(asynchronous=False)
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError._NO_OFFSET:
                    raise error_of(failure, "committing what was finished before a transaction") from None

    def on_committed(self) -> None:
        """The transaction has committed what is in hand: the loop has nothing left to commit."""
        places, self.inbox.in_hand = self.inbox.places_to_commit(), {}
        if self._stored:
            self._store(places)  # what it stored before would be committed once more, at its end, and undo this

    def on_aborted(self) -> None:
        """Notes that the messages in hand are to be read again, by a loop that goes on too."""
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
        self.check_process()
        if self.is_closed:
            raise Closed(f"this member of {self.group} is closed", "join again with client.join_group()")

    def read_more(self, seconds: float) -> None:
        """Waits for one message, if none waits already, and takes those that lie ready behind it."""
        with self._turn:
            self.check_open()
            self._is_reading = True
            try:
                self._read(seconds)
            except KafkaException as failure:
                raise error_of(failure, f"reading as {self.group}") from None
            finally:
                self._is_reading = False
        if self._is_to_close:
            self.close()
        self._finished.store()

    def hand_out(self) -> list[Message]:
        self._sent_before = self._outputs.numbers()
        return self.inbox.hand_out()

    def grow(self, messages_max: int) -> None:
        """Moves messages that wait to the batch that grows; raises what the cluster said in between."""
        while self.inbox.waiting and len(self.inbox.growing) < messages_max:
            read = self.inbox.waiting.popleft()
            if not is_event(read, self.group):
                self.inbox.growing.append(message_of(read))

    def finish(self) -> None:
        self._check_no_transaction("the loop's next step")
        begin, end, self.inbox.in_hand = self.inbox.in_hand, self.inbox.places_to_commit(), {}
        self._finished.add(Batch(self._outputs.since(self._sent_before), begin, end))

    def read_unfinished_again(self) -> None:
        self._check_no_transaction("a new loop")
        self.is_aborted = False
        if self.is_torn:
            self._join_again()
        back = {**self.inbox.taken_back(), **self._finished.taken_back()}
        for topic, partition in back:
            self.inbox.forget(topic, partition)
        self._go_back(back)

    def outage(self) -> ApiError | None:
        """Why the leaders of this member's partitions cannot say whether there is more."""
        with self._turn:
            try:
                places_for(datetime.now(UTC), self._consumer.assignment(), self._consumer, OUTAGE_ASK_SECONDS)
            except ApiError as failure:
                cause = f"{self.group} has read nothing more, and no broker says that there is no more"
                return ApiError(f"{cause}: {failure.cause}", failure.fix, failure.kafka)
        return None

    def is_assigned_soon(self) -> bool:
        """Whether this member has partitions; waits POLL_SECONDS for them."""
        self.check_open()
        if self._consumer.assignment():
            return True
        self.read_more(POLL_SECONDS)
        return bool(self._consumer.assignment())

    # -- inside ------------------------------------------------------------------------------------------------------

    def _unbroken(self, step: Callable[[], Result]) -> Result:
        """Notes an interrupt amid a step, as of Ctrl-C: what the step had in its hands is lost."""
        try:
            return step()
        except ApiError:
            raise
        except BaseException:
            self.is_torn = True
            raise

    def _subscribe(self) -> None:
        given, gone = self._on_given, self._on_gone
        self._consumer.subscribe(self._topics, on_assign=given, on_revoke=gone, on_lost=gone)

    def _join_again(self) -> None:
        """Begins anew where the group has committed, as what the last loop had read is not known any more."""
        with self._turn:
            self.inbox = Inbox()
            self._consumer.unsubscribe()
            self.is_member = self.is_torn = False
            self._subscribe()

    def _read(self, seconds: float) -> None:
        first = self._consumer.consume(1, 0 if self.inbox.waiting else seconds)
        # Not `waiting.extend(consume())`: a rebalance within the call may put another deque in its place.
        self.inbox.waiting.extend(first)
        if first and (room := AHEAD_MAX - len(self.inbox.waiting)) > 0:
            more = self._consumer.consume(room, 0)
            self.inbox.waiting.extend(more)
        self._polled = time.monotonic()

    def _store(self, places: Places) -> None:
        with self._turn:
            self.check_open()
            for (topic, partition), offset in places.items():
                try:
                    self._consumer.store_offsets(offsets=[TopicPartition(topic, partition, offset)])
                except KafkaException:
                    continue  # the partition is another member's by now, which reads the message again
                self._stored[topic, partition] = offset

    def _check_no_transaction(self, call: str) -> None:
        if self.is_in_transaction:
            raise TransactionMisused(
                f"{call} while a transaction of this consumer is open",
                "one batch, or one message, to a transaction: leave its block before the next",
            )

    def _go_back(self, places: Places) -> None:
        for (topic, partition), offset in places.items():
            try:
                self._consumer.seek(TopicPartition(topic, partition, offset))
            except KafkaException:
                continue  # the partition is another member's by now

    def _on_given(self, _: confluent_kafka.Consumer, __: list[TopicPartition]) -> None:
        self.is_member = True

    def _on_gone(self, _: confluent_kafka.Consumer, partitions: list[TopicPartition]) -> None:
        with suppress(DeliveryFailed):  # the loop raises it, and commits nothing of it
            self._finished.store_within(REVOKE_SECONDS)
        for each in partitions:
            self._finished.forget(each.topic, each.partition)
            self.inbox.forget(each.topic, each.partition)
            self._stored.pop((each.topic, each.partition), None)

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


def no_partition(group: str) -> ApiError:
    return ApiError(f"{group} gave this member no partition", "its topics have fewer than it has members")
