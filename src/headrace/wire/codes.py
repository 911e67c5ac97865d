"""Kafka's error codes: what a reply says instead of an exception.

`retriable` tells a client that the same request may succeed later; clients act on the number alone, the sentence is for
people. Codes of APIs that Headrace does not speak are listed too, since clients and logs may still show them.
"""

from enum import IntEnum
from typing import Self

from headrace.base.advice import advice


class ErrorCode(IntEnum):
    message: str
    retriable: bool

    def __new__(cls, code: int, message: str, retriable: bool = False) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.message = message
        member.retriable = retriable
        return member

    UNKNOWN_SERVER_ERROR = (-1, "The broker hit an error it has no code for.")
    NONE = (0, "No error.")
    OFFSET_OUT_OF_RANGE = (1, "The offset lies outside the partition's log.")
    CORRUPT_MESSAGE = (2, "The batch is damaged: its checksum, size or format is wrong.", True)
    UNKNOWN_TOPIC_OR_PARTITION = (3, "This broker knows no such topic or partition.", True)
    INVALID_FETCH_SIZE = (4, "The fetch size is not valid.")
    LEADER_NOT_AVAILABLE = (5, "The partition has no leader at the moment.", True)
    NOT_LEADER_OR_FOLLOWER = (6, "This broker is not the leader, or not a replica, of the partition.", True)
    REQUEST_TIMED_OUT = (7, "The request took longer than its time-out.", True)
    BROKER_NOT_AVAILABLE = (8, "The broker is not available.")
    REPLICA_NOT_AVAILABLE = (9, "The replica is not available on this broker.", True)
    MESSAGE_TOO_LARGE = (10, "The batch is larger than max.message.bytes allows.")
    STALE_CONTROLLER_EPOCH = (11, "The controller has moved: this epoch is out of date.")
    OFFSET_METADATA_TOO_LARGE = (12, "The metadata stored with a committed offset is too long.")
    NETWORK_EXCEPTION = (13, "The connection broke before a reply came.", True)
    COORDINATOR_LOAD_IN_PROGRESS = (14, "The coordinator is still loading its state.", True)
    COORDINATOR_NOT_AVAILABLE = (15, "No coordinator is available at the moment.", True)
    NOT_COORDINATOR = (16, "This broker is not the coordinator.", True)
    INVALID_TOPIC_EXCEPTION = (17, "The topic name is not valid, or the topic may not be written to.")
    RECORD_LIST_TOO_LARGE = (18, "The batch is larger than a segment of the log.")
    NOT_ENOUGH_REPLICAS = (
        19,
        "Fewer replicas are in sync than min.insync.replicas asks for; nothing was written.",
        True,
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        "The batch was written, but fewer replicas are in sync than min.insync.replicas asks for.",
        True,
    )
    INVALID_REQUIRED_ACKS = (21, "acks must be -1, 0 or 1.")
    ILLEGAL_GENERATION = (22, "The generation is not the group's current one.")
    INCONSISTENT_GROUP_PROTOCOL = (23, "The member's protocols do not fit those of the group.")
    INVALID_GROUP_ID = (24, "The group id is not valid.")
    UNKNOWN_MEMBER_ID = (25, "The group does not know this member.")
    INVALID_SESSION_TIMEOUT = (26, "The session time-out lies outside the range that the broker allows.")
    REBALANCE_IN_PROGRESS = (27, "The group is rebalancing: join again.")
    INVALID_COMMIT_OFFSET_SIZE = (28, "The offset commit is too large.")
    TOPIC_AUTHORIZATION_FAILED = (29, "Not authorized for this topic.")
    GROUP_AUTHORIZATION_FAILED = (30, "Not authorized for this group.")
    CLUSTER_AUTHORIZATION_FAILED = (31, "Not authorized for this cluster.")
    INVALID_TIMESTAMP = (32, "The timestamp of a record lies outside the range that the topic allows.")
    UNSUPPORTED_SASL_MECHANISM = (33, "The broker does not offer this SASL mechanism.")
    ILLEGAL_SASL_STATE = (34, "The request does not fit the state of SASL authentication.")
    UNSUPPORTED_VERSION = (35, "This version of the API is not supported.")
    TOPIC_ALREADY_EXISTS = (36, "The topic exists already.")
    INVALID_PARTITIONS = (37, "The number of partitions is not valid.")
    INVALID_REPLICATION_FACTOR = (38, "The replication factor is not valid, or there are not enough brokers for it.")
    INVALID_REPLICA_ASSIGNMENT = (39, "The assignment of replicas is not valid.")
    INVALID_CONFIG = (40, "The configuration is not valid.")
    NOT_CONTROLLER = (41, "This broker is not the controller.", True)
    INVALID_REQUEST = (42, "The request contradicts itself or breaks a rule of the protocol.")
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (43, "The message format in the log does not support this request.")
    POLICY_VIOLATION = (44, "The request breaks a policy of this cluster.")
    OUT_OF_ORDER_SEQUENCE_NUMBER = (45, "The sequence number does not follow the producer's last one.")
    DUPLICATE_SEQUENCE_NUMBER = (46, "The sequence number has been seen before.")
    INVALID_PRODUCER_EPOCH = (47, "A newer producer with the same id has taken over.")
    INVALID_TXN_STATE = (48, "The transaction is not in a state that allows this.")
    INVALID_PRODUCER_ID_MAPPING = (49, "The producer id does not belong to this transactional id.")
    INVALID_TRANSACTION_TIMEOUT = (50, "The transaction time-out is larger than the broker allows.")
    CONCURRENT_TRANSACTIONS = (51, "Another operation on the same transaction is still going on.", True)
    TRANSACTION_COORDINATOR_FENCED = (52, "A newer transaction coordinator has taken over.")
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (53, "Not authorized for this transactional id.")
    SECURITY_DISABLED = (54, "Security features are switched off on this broker.")
    OPERATION_NOT_ATTEMPTED = (55, "The operation was not attempted, because another part of the request failed.")
    KAFKA_STORAGE_ERROR = (56, "The disk of the broker failed or is full.", True)
    LOG_DIR_NOT_FOUND = (57, "The log directory is not known to the broker.")
    SASL_AUTHENTICATION_FAILED = (58, "Authentication failed.")
    UNKNOWN_PRODUCER_ID = (59, "The broker has no state for this producer id.")
    REASSIGNMENT_IN_PROGRESS = (60, "A reassignment of this partition is going on.")
    DELEGATION_TOKEN_AUTH_DISABLED = (61, "Delegation tokens are not enabled here.")
    DELEGATION_TOKEN_NOT_FOUND = (62, "The delegation token is not known.")
    DELEGATION_TOKEN_OWNER_MISMATCH = (63, "The delegation token belongs to someone else.")
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (64, "Delegation tokens cannot be requested over this connection.")
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = (65, "Not authorized for this delegation token.")
    DELEGATION_TOKEN_EXPIRED = (66, "The delegation token has expired.")
    INVALID_PRINCIPAL_TYPE = (67, "The type of the principal is not supported.")
    NON_EMPTY_GROUP = (68, "The group still has members.")
    GROUP_ID_NOT_FOUND = (69, "There is no such group.")
    FETCH_SESSION_ID_NOT_FOUND = (70, "The broker does not know this fetch session.", True)
    INVALID_FETCH_SESSION_EPOCH = (71, "The epoch of the fetch session is not the expected one.", True)
    LISTENER_NOT_FOUND = (72, "The leader does not listen where the client came in.", True)
    TOPIC_DELETION_DISABLED = (73, "Deleting topics is switched off.")
    FENCED_LEADER_EPOCH = (74, "The client's leader epoch is older than the broker's.", True)
    UNKNOWN_LEADER_EPOCH = (75, "The client's leader epoch is newer than the broker's.", True)
    UNSUPPORTED_COMPRESSION_TYPE = (76, "The codec is not supported in this version of the API.")
    STALE_BROKER_EPOCH = (77, "The epoch of the broker is out of date.")
    OFFSET_NOT_AVAILABLE = (78, "The leader cannot tell the offset yet: its high watermark has to catch up.", True)
    MEMBER_ID_REQUIRED = (79, "Join again with the member id given in this reply.")
    PREFERRED_LEADER_NOT_AVAILABLE = (80, "The preferred leader is not available.", True)
    GROUP_MAX_SIZE_REACHED = (81, "The group has as many members as it may have.")
    FENCED_INSTANCE_ID = (82, "Another member with the same instance id has taken over.")
    ELIGIBLE_LEADERS_NOT_AVAILABLE = (83, "No replica that could lead is available.", True)
    ELECTION_NOT_NEEDED = (84, "The partition is already led as asked.", True)
    NO_REASSIGNMENT_IN_PROGRESS = (85, "No reassignment of this partition is going on.")
    GROUP_SUBSCRIBED_TO_TOPIC = (86, "The group is subscribed to this topic.")
    INVALID_RECORD = (87, "A record in the batch breaks a rule, so the batch was refused.")
    UNSTABLE_OFFSET_COMMIT = (88, "Offsets of an open transaction are pending.", True)
    THROTTLING_QUOTA_EXCEEDED = (89, "A quota has been used up: try again later.", True)
    PRODUCER_FENCED = (90, "A newer producer with the same transactional id has taken over.")
    RESOURCE_NOT_FOUND = (91, "There is no such resource.")
    DUPLICATE_RESOURCE = (92, "The resource is named more than once, or exists already.")
    UNACCEPTABLE_CREDENTIAL = (93, "The credential is not acceptable.")
    INCONSISTENT_VOTER_SET = (94, "The voters named by the two sides differ.")
    INVALID_UPDATE_VERSION = (95, "The version to update to is not valid.")
    FEATURE_UPDATE_FAILED = (96, "The feature could not be updated.")
    PRINCIPAL_DESERIALIZATION_FAILURE = (97, "The forwarded principal could not be read.")
    SNAPSHOT_NOT_FOUND = (98, "There is no such snapshot.")
    POSITION_OUT_OF_RANGE = (99, "The position lies outside the snapshot.")
    UNKNOWN_TOPIC_ID = (100, "This broker knows no topic with this id.", True)
    DUPLICATE_BROKER_REGISTRATION = (101, "Another broker is registered under the same id.")
    BROKER_ID_NOT_REGISTERED = (102, "The broker is not registered.")
    INCONSISTENT_TOPIC_ID = (103, "The topic id does not belong to the topic that is stored.", True)
    INCONSISTENT_CLUSTER_ID = (104, "The request is meant for another cluster.")
    TRANSACTIONAL_ID_NOT_FOUND = (105, "There is no such transactional id.")
    FETCH_SESSION_TOPIC_ID_ERROR = (106, "The fetch session mixes topic names and topic ids.", True)
    INELIGIBLE_REPLICA = (107, "The replica may not join the in-sync replicas.")
    NEW_LEADER_ELECTED = (108, "A new leader was elected for the partition.")
    OFFSET_MOVED_TO_TIERED_STORAGE = (109, "The offset has moved to tiered storage.")
    FENCED_MEMBER_EPOCH = (110, "The member's epoch has been fenced: join again.")
    UNRELEASED_INSTANCE_ID = (111, "The instance id is still held by another member.")
    UNSUPPORTED_ASSIGNOR = (112, "The assignor is not one that the broker offers.")
    STALE_MEMBER_EPOCH = (113, "The member's epoch is out of date: heartbeat first.")
    MISMATCHED_ENDPOINT_TYPE = (114, "The request came to the wrong kind of endpoint.")
    UNSUPPORTED_ENDPOINT_TYPE = (115, "This kind of endpoint is not supported.")
    UNKNOWN_CONTROLLER_ID = (116, "The controller id is not known.")
    UNKNOWN_SUBSCRIPTION_ID = (117, "The telemetry subscription is out of date.")
    TELEMETRY_TOO_LARGE = (118, "The telemetry data is larger than the broker accepts.")
    INVALID_REGISTRATION = (119, "The registration of the broker is not valid.")
    TRANSACTION_ABORTABLE = (120, "The transaction failed and has to be aborted.")
    INVALID_RECORD_STATE = (121, "The record is not in a state that allows this acknowledgement.")
    SHARE_SESSION_NOT_FOUND = (122, "The broker does not know this share session.", True)
    INVALID_SHARE_SESSION_EPOCH = (123, "The epoch of the share session is not the expected one.", True)
    FENCED_STATE_EPOCH = (124, "The epoch of the share group's state is out of date.")
    INVALID_VOTER_KEY = (125, "The key of the voter does not fit the replica.")
    DUPLICATE_VOTER = (126, "The voter is already one of the voters.")
    VOTER_NOT_FOUND = (127, "The voter is not one of the voters.")
    INVALID_REGULAR_EXPRESSION = (128, "The regular expression is not valid.")
    REBOOTSTRAP_REQUIRED = (129, "The client has to start over from its bootstrap servers.")
    STREAMS_INVALID_TOPOLOGY = (130, "The topology of the streams application is not valid.")
    STREAMS_INVALID_TOPOLOGY_EPOCH = (131, "The epoch of the streams topology is not valid.")
    STREAMS_TOPOLOGY_FENCED = (132, "The epoch of the streams topology is out of date.")
    SHARE_SESSION_LIMIT_REACHED = (133, "The broker holds as many share sessions as it may.", True)


CODES: dict[int, ErrorCode] = {int(code): code for code in ErrorCode}
"""Error codes by the number in a reply."""


def advice_for(code: int) -> str:
    """The advice that holds for every reader of this code; empty where there is none."""
    return advice(CODES[code].name) if code in CODES else ""
