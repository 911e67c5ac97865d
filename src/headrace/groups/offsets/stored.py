"""The stored layout of committed offsets in __consumer_offsets.

The records have Kafka's own layout (key type 1, value version 4), so monitors and dump tools read them; a field that only
we store sits in a tag from 100 up, which Kafka's readers skip.
"""

from headrace.wire.schema import Message, int32, int64, string, uuid

OFFSET_COMMIT = 1
VALUE_VERSION = 4


class OffsetCommitKey(Message, versions="1", flexible=None):
    group: str = string()
    topic: str = string()
    partition: int = int32()


class OffsetCommitValue(Message, versions="4", flexible=4):
    offset: int = int64()
    leader_epoch: int = int32(default=-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    topic_id: bytes = uuid(tag=0)
    expire_timestamp: int = int64(default=-1, tag=100)
