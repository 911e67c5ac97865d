"""The stored layout of classic groups in __consumer_offsets.

The records have Kafka's own layout (key type 2, value version 4), so monitors and dump tools read them; fields that only
we store sit in tags from 100 up, which Kafka's readers skip.
"""

from headrace.wire.schema import Message, Struct, array, binary, boolean, int32, int64, string

GROUP_METADATA = 2
VALUE_VERSION = 4


class GroupMetadataKey(Message, versions="2", flexible=None):
    group: str = string()


class ProtocolMetadata(Struct):
    name: str = string()
    metadata: bytes = binary()


class MemberMetadata(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(nullable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32()
    session_timeout: int = int32()
    subscription: bytes = binary()
    assignment: bytes = binary()
    # All protocols in the member's order, the chosen one without its metadata, which is the subscription; empty when
    # the member offered only that one.
    protocols: list[ProtocolMetadata] = array(ProtocolMetadata, tag=100)


class GroupMetadataValue(Message, versions="4", flexible=4):
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable=True)
    leader: str | None = string(nullable=True)
    current_state_timestamp: int = int64(default=-1)
    members: list[MemberMetadata] = array(MemberMetadata)
    awaits_assignment: bool = boolean(tag=100)
