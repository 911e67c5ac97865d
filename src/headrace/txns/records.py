"""The bytes of a transactional id's state: key and value each begin with a version of two bytes.

A key of a version that we do not know is skipped; a value of one is refused rather than guessed at. A value of None is a
tombstone. Replaying all records of a partition in order gives everything about its transactions.
"""

from struct import Struct as Layout

from headrace.base.errors import PeerError, UserError
from headrace.base.ids import TopicPartition
from headrace.base.other_format import other_format
from headrace.txns.outcome import TxnRecord
from headrace.txns.state import Transaction, TxnState
from headrace.txns.stored import (
    KEY_VERSION,
    VALUE_VERSION,
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from headrace.wire.codec import decode as decode_message
from headrace.wire.codec import encoded

_NUMBER = Layout(">h")
_KEY_VERSION = _NUMBER.pack(KEY_VERSION)
_VALUE_VERSION = _NUMBER.pack(VALUE_VERSION)


def encode(record: TxnRecord) -> tuple[bytes, bytes | None]:
    key = _KEY_VERSION + encoded(TransactionLogKey(record.transactional_id), KEY_VERSION)
    return key, None if record.value is None else _VALUE_VERSION + _value_bytes(record.value)


def _value_bytes(transaction: Transaction) -> bytes:
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.value,
        transaction_partitions=_by_topic(transaction.partitions) or None,
        transaction_last_update_timestamp_ms=transaction.updated_at,
        transaction_start_timestamp_ms=transaction.started_at,
        client_transaction_version=transaction.client_version,
        last_producer_epoch=transaction.last_epoch,
    )
    return encoded(value, VALUE_VERSION)


def _by_topic(partitions: frozenset[TopicPartition]) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return [PartitionsSchema(topic, indexes) for topic, indexes in topics.items()]


def decode(key: bytes | None, value: bytes | None) -> TxnRecord | None:
    """The record of a key and value; None for a kind of record we do not know."""
    if key is None or len(key) < _NUMBER.size or _NUMBER.unpack_from(key)[0] != KEY_VERSION:
        return None
    try:
        transactional_id = decode_message(TransactionLogKey, KEY_VERSION, key, _NUMBER.size).transactional_id
        return TxnRecord(transactional_id, None if value is None else _read_value(value))
    except PeerError as error:
        raise UserError(
            f"a record of __transaction_state cannot be read: {error}",
            "Its partition is damaged: let another replica lead it. If none is whole, "
            "`headrace backup restore` brings topics and group offsets into a new cluster.",
        ) from error


def _read_value(value: bytes) -> Transaction:
    version = _NUMBER.unpack_from(value)[0] if len(value) >= _NUMBER.size else -1
    if version != VALUE_VERSION:
        raise other_format("a record of __transaction_state", version, VALUE_VERSION)
    stored = decode_message(TransactionLogValue, VALUE_VERSION, value, _NUMBER.size)
    return Transaction(
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        state=TxnState(stored.transaction_status),
        updated_at=stored.transaction_last_update_timestamp_ms,
        partitions=frozenset(
            TopicPartition(topic.topic, index)
            for topic in stored.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        started_at=stored.transaction_start_timestamp_ms,
        last_epoch=stored.last_producer_epoch,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        client_version=stored.client_transaction_version,
    )
