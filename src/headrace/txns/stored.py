"""The stored layout of records in __transaction_state.

The records have Kafka's own layout (key version 0, value version 1), so dump tools read them; fields that only we store
sit in a tag from 100 up, which Kafka's readers skip.
"""

from headrace.wire.schema import Message, Struct, array, int8, int16, int32, int64, string

KEY_VERSION = 0
VALUE_VERSION = 1


class TransactionLogKey(Message, versions="0", flexible=None):
    transactional_id: str = string()


class PartitionsSchema(Struct):
    topic: str = string()
    partition_ids: list[int] = array(int32)


class TransactionLogValue(Message, versions="1", flexible=1):
    producer_id: int = int64()
    previous_producer_id: int = int64(default=-1, tag=0)
    next_producer_id: int = int64(default=-1, tag=1)
    producer_epoch: int = int16()
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[PartitionsSchema] | None = array(PartitionsSchema, nullable=True)
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16(default=0, tag=2)
    last_producer_epoch: int = int16(default=-1, tag=100)
