"""Transactions: messages sent, and the offsets of the messages they were made from, become visible together or not at all.

    with client.transactional_producer("copier-1") as producer, client.join_group("copiers", "source") as consumer:
        for batch in consumer.batches():
            with producer.transaction(consumer) as transaction:
                for message in batch:
                    transaction.send("sink", message.value)

The block commits when it ends and aborts when it raises; then the consumer reads the same messages again. Where it cannot be
known how a commit ended, the consumer is closed: only the group's own offsets tell where to go on.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self, Unpack

from confluent_kafka import KafkaError, KafkaException

from headrace.api.checks import check_name
from headrace.api.consumer import Consumer
from headrace.api.delivery import Delivery, Failures
from headrace.api.errors import ApiError, TransactionAborted, TransactionMisused, error_of
from headrace.api.producer import Producer
from headrace.api.sending import Inject, SendOptions
from headrace.api.trouble import Trouble

STEP_SECONDS = 60.0


class Transaction:
    """A block that commits all that is sent inside, with the messages in hand of the loop over `consumer`, or none of it."""

    def __init__(self, producer: "TransactionalProducer", consumer: Consumer | None) -> None:
        self._producer = producer
        self._consumer = consumer
        self._was_begun = False
        self.is_open = False

    def send(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        """Sends like `Producer.send`, inside the transaction."""
        self.check_open()
        return self._producer.send_inside(topic, value, **options)

    def check_open(self) -> None:
        if not self._was_begun:
            raise TransactionMisused("this transaction has not begun", "with producer.transaction() as transaction: …")
        if not self.is_open:
            raise TransactionMisused("this transaction has ended", "send inside its `with` block, or begin another")

    def __enter__(self) -> Self:
        if self._was_begun:
            raise TransactionMisused("this transaction was begun before", "producer.transaction() makes another")
        self._producer.begin(self, self._consumer)
        self._was_begun = self.is_open = True
        if self._consumer is not None:
            self._consumer.commits.is_in_transaction = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.is_open = False
        if self._consumer is not None:
            self._consumer.commits.is_in_transaction = False
        if error is None:
            self._producer.commit(self._consumer)
        else:
            self._producer.abort(self._consumer)


class FailuresOfCommit(Failures):
    """Failures of deliveries that nobody needs to keep: the commit at the block's end fails by them."""

    def add(self, delivery: Delivery, failure: ApiError) -> None:
        pass


class TransactionalProducer(Producer):
    """Made by `client.transactional_producer(id)`: one that starts with the same id ends what the last one left open."""

    # transaction.timeout.ms bounds a delivery.
    delivery_defaults: Mapping[str, object] = {}

    def __init__(self, id: str, config: Mapping[str, object], inject: Inject | None = None) -> None:
        self.id = check_name("transactional producer", id, 'transactional_producer("invoicer-1")')
        super().__init__({**config, "transactional.id": id}, inject, FailuresOfCommit())
        self._open: Transaction | None = None

    def start(self) -> None:
        """Fences the last producer with this id, and ends what it left open."""
        self._step(self.queue.producer.init_transactions, f"starting the transactions of {self.id}")

    def send(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        raise outside_transaction()

    def transaction(self, consumer: Consumer | None = None) -> Transaction:
        """A transaction for `with`: commits at the block's end, and aborts if the block raises."""
        if consumer is not None and not isinstance(consumer, Consumer):
            raise TransactionMisused(f"{consumer!r} is no consumer", "pass what client.join_group() made, or nothing")
        return Transaction(self, consumer)

    # -- for its transactions ------------------------------------------------------------------------------------------

    def send_inside(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        return super().send(topic, value, **options)

    def begin(self, transaction: Transaction, consumer: Consumer | None) -> None:
        self.queue.check_open()
        if self._open is not None:
            raise TransactionMisused("a transaction of this producer is open", "end its `with` block before the next")
        self._open = transaction
        try:
            if consumer is not None:
                consumer.commits.commit_finished()
            self._step(lambda _: self.queue.producer.begin_transaction(), "beginning a transaction")
        except BaseException:
            self._open = None
            raise

    def commit(self, consumer: Consumer | None) -> None:
        try:
            self._commit(consumer)
        except TransactionAborted:
            self._abort(consumer)
            raise
        except BaseException as failure:
            if not isinstance(failure, ApiError):
                self._abort(None)
            if consumer is not None:
                consumer.close()
            raise
        finally:
            self._open = None

    def abort(self, consumer: Consumer | None) -> None:
        try:
            self._abort(consumer)
        finally:
            self._open = None

    # -- inside --------------------------------------------------------------------------------------------------------

    def _commit(self, consumer: Consumer | None) -> None:
        self._check_not_closed_inside(consumer)
        if consumer is not None and (places := consumer.commits.in_hand()):
            group = consumer.reader.member.consumer.consumer_group_metadata()
            self._step(
                lambda seconds: self.queue.producer.send_offsets_to_transaction(places, group, seconds),
                "committing the offsets of a transaction",
            )
        self._step(self.queue.producer.commit_transaction, "committing a transaction")
        if consumer is not None:
            consumer.commits.on_committed()

    def _check_not_closed_inside(self, consumer: Consumer | None) -> None:
        try:
            self.queue.check_open()
            if consumer is not None:
                consumer.reader.member.check_open()
        except ApiError as failure:
            raise TransactionAborted(f"{failure.cause}, with a transaction open", "end its block first") from None

    def _abort(self, consumer: Consumer | None) -> None:
        if consumer is not None:
            consumer.commits.on_aborted()
        with suppress(ApiError):
            self._step(self.queue.producer.abort_transaction, "aborting a transaction")

    def _step(self, call: Callable[[float], object], doing: str) -> None:
        """Calls again what may be called again, for as long as STEP_SECONDS."""
        deadline = time.monotonic() + STEP_SECONDS
        while True:
            try:
                call(max(1.0, deadline - time.monotonic()))
                return
            except KafkaException as failure:
                self.queue.note_fatal(failure)
                error = failure.args[0]
                if not (isinstance(error, KafkaError) and error.retriable()) or time.monotonic() > deadline:
                    raise _error_of(failure, doing, self.queue.trouble) from None
            except SystemError:  # as in SendQueue; called again, it says how it ended
                self.queue.is_doubtful = True
                if time.monotonic() > deadline:
                    raise


def outside_transaction() -> TransactionMisused:
    return TransactionMisused(
        "a transactional producer sends inside a transaction",
        "with producer.transaction() as transaction: transaction.send(…)",
    )


def _error_of(failure: KafkaException, doing: str, trouble: Trouble) -> ApiError:
    error = failure.args[0]
    if not isinstance(error, KafkaError):
        return error_of(failure, doing)
    if error.txn_requires_abort():
        return error_of(error, doing, TransactionAborted)
    return error_of(trouble.cause_of(error), doing)
