"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: here the broker computes the assignment (KIP-848)."""

from headrace.wire.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string, struct, uuid


class TopicPartitions(Struct):
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)


class ConsumerGroupHeartbeatRequest(Request, key=68, versions="0-1", flexible=0):
    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable=True)
    rack_id: str | None = string(nullable=True)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = array(string, nullable=True)
    subscribed_topic_regex: str | None = string(versions="1+", nullable=True)
    server_assignor: str | None = string(nullable=True)
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, nullable=True)


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class ConsumerGroupHeartbeatResponse(Response, to=ConsumerGroupHeartbeatRequest):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    member_id: str | None = string(nullable=True)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = struct(Assignment, nullable=True)


class ConsumerGroupDescribeRequest(Request, key=69, versions="0-1", flexible=0):
    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()


class DescribedTopicPartitions(Struct):
    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


class DescribedAssignment(Struct):
    topic_partitions: list[DescribedTopicPartitions] = array(DescribedTopicPartitions)


class Member(Struct):
    member_id: str = string()
    instance_id: str | None = string(nullable=True)
    rack_id: str | None = string(nullable=True)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable=True)
    assignment: DescribedAssignment = struct(DescribedAssignment)
    target_assignment: DescribedAssignment = struct(DescribedAssignment)
    member_type: int = int8(versions="1+", default=-1)


class DescribedGroup(Struct):
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=-2147483648)


class ConsumerGroupDescribeResponse(Response, to=ConsumerGroupDescribeRequest):
    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
