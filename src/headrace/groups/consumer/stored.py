"""The stored layout of consumer groups in __consumer_offsets.

Kafka's own layout again (key types 3 and 5 to 8, value version 0), with fields that only we store in tags from 100 up.
Kafka's type 4 (what the topics were like) is a number in type 3 here, and its type 16 (what an expression matches) is
not stored: a coordinator that loads the group knows the topics.
"""

from headrace.wire.schema import Message, Struct, array, binary, int8, int32, int64, string, struct, uuid

GROUP_EPOCH = 3
MEMBER = 5
TARGET_EPOCH = 6
TARGET_MEMBER = 7
CURRENT_MEMBER = 8
VALUE_VERSION = 0


class GroupEpochKey(Message, versions="3", flexible=None):
    group: str = string()


class GroupEpochValue(Message, versions="0", flexible=0):
    epoch: int = int32()
    metadata_hash: int = int64(tag=0)
    timestamp: int = int64(default=-1, tag=100)


class MemberKey(Message, versions="5", flexible=None):
    group: str = string()
    member_id: str = string()


class ClassicProtocolValue(Struct):
    name: str = string()
    metadata: bytes = binary()


class ClassicMemberValue(Struct):
    session_timeout: int = int32()
    supported_protocols: list[ClassicProtocolValue] = array(ClassicProtocolValue)


class MemberValue(Message, versions="0", flexible=0):
    instance_id: str | None = string(nullable=True)
    rack_id: str | None = string(nullable=True)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable=True)
    rebalance_timeout: int = int32(default=-1)
    server_assignor: str | None = string(nullable=True)
    classic_member: ClassicMemberValue | None = struct(ClassicMemberValue, nullable=True, tag=0)


class TargetEpochKey(Message, versions="6", flexible=None):
    group: str = string()


class TargetEpochValue(Message, versions="0", flexible=0):
    epoch: int = int32()


class TargetMemberKey(Message, versions="7", flexible=None):
    group: str = string()
    member_id: str = string()


class TargetPartitions(Struct):
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)


class TargetMemberValue(Message, versions="0", flexible=0):
    topic_partitions: list[TargetPartitions] = array(TargetPartitions)


class CurrentMemberKey(Message, versions="8", flexible=None):
    group: str = string()
    member_id: str = string()


class OwnedPartitions(Struct):
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)
    # The member epoch in which each partition was given.
    since: list[int] = array(int32, tag=100)


class CurrentMemberValue(Message, versions="0", flexible=0):
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned: list[OwnedPartitions] = array(OwnedPartitions)
    revoking: list[OwnedPartitions] = array(OwnedPartitions)
