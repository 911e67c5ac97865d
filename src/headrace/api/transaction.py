"""Transactions: messages sent, and the offsets of the messages they were made from, become visible together or not at all.

    with client.transactional_producer("copier-1") as producer, client.join_group("copiers", "source") as consumer:
        for batch in consumer.batches():
            with producer.transaction(consumer) as transaction:
                for message in batch:
                    transaction.send("sink", message.value)

The block commits when it ends and aborts when it raises; then the consumer reads the same messages again.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from headrace.api.consumer import Consumer
from headrace.api.errors import ApiError, TransactionAborted, TransactionMisused, error_of
from headrace.api.producer import Delivery, Inject, Producer

STEP_SECONDS = 60.0


class Transaction:
    """An open transaction; `send` takes what `Producer.send` takes."""

    def __init__(self, send: Callable[..., Delivery]) -> None:
        self._send = send
        self.is_open = True

    def send(self, topic: str, value: object, **options: Any) -> Delivery:
        self.check_open()
        return self._send(topic, value, **options)

    def check_open(self) -> None:
        if not self.is_open:
            raise TransactionMisused("this transaction has ended", "send inside its `with` block, or begin another")


class TransactionalProducer(Producer):
    """Made by `client.transactional_producer(id)`: one that starts with the same id ends what the last one left open."""

    def __init__(self, id: str, config: Mapping[str, object], inject: Inject | None = None) -> None:
        super().__init__({**config, "transactional.id": id}, inject)
        self.id = id
        self._open: Transaction | None = None

    def start(self) -> None:
        """Fences the last producer with this id, and ends what it left open."""
        self._step(self._producer.init_transactions, f"starting the transactions of {self.id}")

    def send(self, topic: str, value: object, **options: Any) -> Delivery:
        raise outside_transaction()

    @contextmanager
    def transaction(self, consumer: Consumer | None = None) -> Iterator[Transaction]:
        """Of everything sent inside, and of what the loop over `consumer` has in hand, all or nothing is committed."""
        self.check_open()
        if self._open is not None:
            raise TransactionMisused("a transaction of this producer is open", "end its `with` block before the next")
        self._step(lambda _: self._producer.begin_transaction(), "beginning a transaction")
        transaction = self._open = Transaction(super().send)
        try:
            with _bound(consumer):
                yield transaction
            transaction.is_open = False
            self._commit(consumer)
        except BaseException as failure:
            self._abort(consumer, failure, in_body=transaction.is_open)
            raise
        finally:
            transaction.is_open, self._open = False, None
            # A failed delivery has failed the commit, and so was told.
            self.forget_failures()

    def _commit(self, consumer: Consumer | None) -> None:
        places = consumer.places_to_commit() if consumer is not None else []
        if consumer is not None and places:
            group = consumer.group_metadata()
            self._step(
                lambda seconds: self._producer.send_offsets_to_transaction(places, group, seconds),
                "committing the offsets of a transaction",
            )
        self._step(self._producer.commit_transaction, "committing a transaction")
        if consumer is not None:
            consumer.on_committed()

    def _abort(self, consumer: Consumer | None, failure: BaseException, in_body: bool) -> None:
        if not in_body and isinstance(failure, ApiError) and not isinstance(failure, TransactionAborted):
            # Unknown whether it was committed, or fenced: only the group's own offsets tell where to go on.
            if consumer is not None:
                consumer.close()
            return
        if consumer is not None:
            consumer.on_aborted()
        with suppress(ApiError):
            self._step(self._producer.abort_transaction, "aborting a transaction")

    @staticmethod
    def _step(call: Callable[[float], object], doing: str) -> None:
        """Calls again what may be called again, for as long as STEP_SECONDS."""
        deadline = time.monotonic() + STEP_SECONDS
        while True:
            try:
                call(max(1.0, deadline - time.monotonic()))
                return
            except KafkaException as failure:
                error = failure.args[0]
                if not (isinstance(error, KafkaError) and error.retriable()) or time.monotonic() > deadline:
                    raise _told(failure, doing) from None


def outside_transaction() -> TransactionMisused:
    return TransactionMisused(
        "a transactional producer sends inside a transaction",
        "with producer.transaction() as transaction: transaction.send(…)",
    )


def _told(failure: KafkaException, doing: str) -> ApiError:
    error = failure.args[0]
    if isinstance(error, KafkaError) and error.txn_requires_abort():
        return error_of(failure, doing, TransactionAborted)
    return error_of(failure, doing)


@contextmanager
def _bound(consumer: Consumer | None) -> Iterator[None]:
    """Within the block the consumer's offsets are the transaction's."""
    if consumer is None:
        yield
        return
    consumer.is_in_transaction = True
    try:
        yield
    finally:
        consumer.is_in_transaction = False
