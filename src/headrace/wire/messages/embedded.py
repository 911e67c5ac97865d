"""Subscriptions and assignments of classic consumers: the bytes in JoinGroup and SyncGroup, with a version of their own."""

from headrace.wire.schema import Message, Struct, array, binary, int32, string

EMBEDDED_VERSION_MAX = 3


class EmbeddedPartitions(Struct):
    topic: str = string()
    partitions: list[int] = array(int32)


class EmbeddedSubscription(Message, versions="0-3", flexible=None):
    topics: list[str] = array(string)
    user_data: bytes | None = binary(nullable=True)
    owned_partitions: list[EmbeddedPartitions] = array(EmbeddedPartitions, versions="1+")
    generation: int = int32(default=-1, versions="2+")
    rack_id: str | None = string(nullable=True, versions="3+")


class EmbeddedAssignment(Message, versions="0-3", flexible=None):
    assigned_partitions: list[EmbeddedPartitions] = array(EmbeddedPartitions)
    user_data: bytes | None = binary(nullable=True)
