"""The present leader, which Produce and Fetch add to a refusal so that a client need not ask for Metadata."""

from headrace.wire.schema import Struct, int32, string


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable=True)
