"""The transactions of one slot: messages and the lines about them, all or nothing. Blocking; runs in a thread.

    take_over --> store* --> SlotLost: another gateway took over, or we do not know how it ended. Make a new one.

A `SlotLost` after the commit was sent leaves open whether it was done; whoever takes the slot over next finds out by
reading it.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.client.produce.outgoing import Delivered, Outgoing
from headrace.gateway.idempotency.entry import Entry, encode_entry
from headrace.gateway.idempotency.places import pack_places
from headrace.gateway.idempotency.slot_names import SlotNames

# librdkafka calls it fatal to be fenced, and would say so on stderr; here it is a day's work.
_SILENT = logging.Logger("librdkafka", logging.CRITICAL + 1)
COMMIT_TRIES = 3


class SlotLost(Exception):
    """This producer is finished."""


class SlotForbidden(Exception):
    """A refusal of the transactional id to whoever asks."""


class Rejected(Exception):
    """Nothing was stored, since these of the requests (by index) cannot be."""

    def __init__(self, errors: Mapping[int, KafkaError]) -> None:
        super().__init__(str(errors))
        self.errors = errors


class Wanted(NamedTuple):
    key: bytes
    fingerprint: str
    topic: str
    messages: Sequence[Outgoing]


class SlotProducer:
    def __init__(self, config: Mapping[str, Any], names: SlotNames, slot: int, seconds_max: float) -> None:
        self._names = names
        self._slot = slot
        self._seconds_max = seconds_max
        told = {**config, "error_cb": _ignore, "logger": _SILENT, "transactional.id": names.transactional_id(slot)}
        self._producer = Producer(told)

    def take_over(self) -> None:
        """Fences every other writer to the slot and aborts the transactions that they left open."""
        try:
            self._producer.init_transactions(self._seconds_max)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                raise SlotForbidden from None
            raise SlotLost(error) from error

    def store(self, wanted: Sequence[Wanted]) -> list[Entry]:
        try:
            self._producer.begin_transaction()
            entries = self._send_messages(wanted)
            self._send_entries(wanted, entries)
            self._commit()
        except (KafkaException, SystemError) as error:
            # SystemError: a binding of confluent-kafka that is fenced inside a flush may return without saying why.
            raise SlotLost(error) from error
        return entries

    def close(self) -> None:
        """Closes the client, in this thread too: its end waits for threads of its own."""
        self._producer.purge()
        del self._producer

    def _send_messages(self, wanted: Sequence[Wanted]) -> list[Entry]:
        errors: dict[int, KafkaError] = {}
        places: list[list[Delivered]] = []
        for index, (_, _, topic, messages) in enumerate(wanted):
            delivered: list[Delivered] = [Delivered(-1, -1, -1)] * len(messages)
            places.append(delivered)
            for at, message in enumerate(messages):
                self._send(topic, message, partial(_on_delivery, delivered, at, errors, index))
        self._producer.flush(self._seconds_max)
        if errors:
            self._producer.abort_transaction(self._seconds_max)
            raise Rejected(errors)
        if any(place.offset < 0 for delivered in places for place in delivered):
            raise SlotLost("not all messages were acknowledged in time")
        return [Entry(each.fingerprint, pack_places(delivered)) for each, delivered in zip(wanted, places, strict=True)]

    def _send(self, topic: str, message: Outgoing, on_delivery: Any) -> None:
        value, key, _, partition, timestamp = message
        headers: list[tuple[str, str | bytes | None]] | None = list(message.headers) if message.headers else None
        try:
            self._producer.produce(topic, value, key, partition, on_delivery, timestamp=timestamp, headers=headers)
        except BufferError as error:
            raise SlotLost("the queue of the producer is full") from error
        except KafkaException as error:
            if error.args[0].fatal():
                raise
            on_delivery(error.args[0], None)

    def _send_entries(self, wanted: Sequence[Wanted], entries: Sequence[Entry]) -> None:
        for each, entry in zip(wanted, entries, strict=True):
            self._producer.produce(self._names.topic, encode_entry(entry), each.key, self._slot)

    def _commit(self) -> None:
        for tries_left in reversed(range(COMMIT_TRIES)):
            try:
                self._producer.commit_transaction(self._seconds_max)
                return
            except KafkaException as error:
                if not error.args[0].retriable() or not tries_left:
                    raise


def _on_delivery(
    delivered: list[Delivered],
    at: int,
    errors: dict[int, KafkaError],
    index: int,
    error: KafkaError | None,
    message: Message,
) -> None:
    if error is not None:
        # What is purged because another message failed is not to blame.
        if error.code() not in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
            errors.setdefault(index, error)
        return
    partition, offset = message.partition(), message.offset()
    assert partition is not None and offset is not None, "what is delivered has a place"
    delivered[at] = Delivered(partition, offset, message.timestamp()[1])


def _ignore(_: object) -> None:
    """Ignores an error of the client: the call that it concerns raises it."""
