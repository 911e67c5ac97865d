"""DescribeQuorum: who keeps the metadata, who controls, and how far each has read."""

from headrace.wire.schema import Request, Response, Struct, array, int16, int32, int64, string, uint16, uuid


class PartitionAsked(Struct):
    partition_index: int = int32()


class TopicAsked(Struct):
    topic_name: str = string()
    partitions: list[PartitionAsked] = array(PartitionAsked)


class DescribeQuorumRequest(Request, key=55, versions="0-2", flexible=0):
    topics: list[TopicAsked] = array(TopicAsked)


class QuorumReplica(Struct):
    replica_id: int = int32()
    replica_directory_id: bytes = uuid(versions="2+")
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64(versions="1+", default=-1)
    last_caught_up_timestamp: int = int64(versions="1+", default=-1)


class QuorumPartition(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(versions="2+", nullable=True)
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[QuorumReplica] = array(QuorumReplica)
    observers: list[QuorumReplica] = array(QuorumReplica)


class QuorumTopic(Struct):
    topic_name: str = string()
    partitions: list[QuorumPartition] = array(QuorumPartition)


class QuorumListener(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class QuorumNode(Struct):
    node_id: int = int32()
    listeners: list[QuorumListener] = array(QuorumListener)


class DescribeQuorumResponse(Response, to=DescribeQuorumRequest):
    error_code: int = int16()
    error_message: str | None = string(versions="2+", nullable=True)
    topics: list[QuorumTopic] = array(QuorumTopic)
    nodes: list[QuorumNode] = array(QuorumNode, versions="2+")
