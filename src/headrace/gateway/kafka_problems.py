"""Kafka's error codes as HTTP statuses: what kind of failure, and what the caller can do about it.

Brokers' codes and librdkafka's own (below zero) have one table, since both reach a caller for the same reasons. A code
that is not in it is 503 if the protocol says that it may pass, and 502 otherwise: the broker said no, we know not why.
"""

from typing import NamedTuple

from confluent_kafka import KafkaError

from headrace.wire.codes import CODES, ErrorCode, advice_for


class Words(NamedTuple):
    status: int
    title: str
    fix: str
    name: str = ""
    sentence: str = ""


NO_ANSWER = Words(503, "No broker answers", "check that the brokers run (`headrace doctor`), then try again")
_NO_TOPIC = Words(404, "Unknown topic", "GET /api/v1/topics lists the topics, POST /api/v1/topics makes one")
_NO_PARTITION = Words(404, "Unknown partition", "GET /api/v1/topics/{topic} shows the partitions")
_TOO_FEW = Words(503, "Not enough replicas", advice_for(ErrorCode.NOT_ENOUGH_REPLICAS))
_TOO_LARGE = Words(413, "Message too large", advice_for(ErrorCode.MESSAGE_TOO_LARGE))
_BUSY = Words(429, "Too many requests", "send slower: try again after the time in Retry-After")
_FORBIDDEN = Words(403, "Not authorized", "ask whoever runs the cluster for access")
_GROUP_MOVES = Words(409, "Group is rebalancing", "join the group again")
_EXISTS = Words(409, "Already exists", "choose another name, or change the one that is there")
_INVALID = Words(422, "Refused by the broker", "change the request as the detail says")

_WORDS: dict[int, Words] = {
    KafkaError._TRANSPORT: NO_ANSWER,
    KafkaError._ALL_BROKERS_DOWN: NO_ANSWER,
    KafkaError._TIMED_OUT: NO_ANSWER,
    KafkaError._MSG_TIMED_OUT: NO_ANSWER,
    KafkaError._UNKNOWN_TOPIC: _NO_TOPIC,
    KafkaError._UNKNOWN_PARTITION: _NO_PARTITION,
    KafkaError._QUEUE_FULL: _BUSY,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _NO_TOPIC,
    ErrorCode.UNKNOWN_TOPIC_ID: _NO_TOPIC,
    ErrorCode.OFFSET_OUT_OF_RANGE: Words(
        416, "Offset out of range", "read from an offset between the two in `earliest` and `latest`"
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS: _TOO_FEW,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _TOO_FEW,
    ErrorCode.MESSAGE_TOO_LARGE: _TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE: _TOO_LARGE,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: _BUSY,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: _FORBIDDEN,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: _FORBIDDEN,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: _FORBIDDEN,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _FORBIDDEN,
    ErrorCode.TOPIC_ALREADY_EXISTS: _EXISTS,
    ErrorCode.NON_EMPTY_GROUP: Words(
        409, "Group is in use", f"{advice_for(ErrorCode.NON_EMPTY_GROUP)}, or name another group"
    ),
    ErrorCode.GROUP_ID_NOT_FOUND: Words(404, "Unknown group", "GET /api/v1/consumer-groups lists the groups"),
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: Words(
        404, "Unknown transactional id", "GET /api/v1/transactions lists those that are known"
    ),
    ErrorCode.BROKER_ID_NOT_REGISTERED: Words(404, "Unknown broker", "GET /api/v1/cluster shows the brokers"),
    ErrorCode.BROKER_NOT_AVAILABLE: Words(409, "Broker is not alive", "start it, or name another"),
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: Words(409, "Not moving", "GET /api/v1/reassignments shows what moves"),
    ErrorCode.TOPIC_DELETION_DISABLED: Words(
        403, "Topics are not deleted here", advice_for(ErrorCode.TOPIC_DELETION_DISABLED)
    ),
    ErrorCode.UNKNOWN_MEMBER_ID: Words(409, "Unknown member", "join the group again"),
    ErrorCode.ILLEGAL_GENERATION: _GROUP_MOVES,
    ErrorCode.REBALANCE_IN_PROGRESS: _GROUP_MOVES,
    ErrorCode.INVALID_TOPIC_EXCEPTION: Words(422, "Invalid topic", advice_for(ErrorCode.INVALID_TOPIC_EXCEPTION)),
    ErrorCode.INVALID_PARTITIONS: _INVALID,
    ErrorCode.INVALID_REPLICATION_FACTOR: _INVALID,
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: _INVALID,
    ErrorCode.INVALID_CONFIG: _INVALID,
    ErrorCode.INVALID_REQUEST: _INVALID,
    ErrorCode.INVALID_TIMESTAMP: _INVALID,
    ErrorCode.INVALID_RECORD: _INVALID,
    ErrorCode.INVALID_GROUP_ID: _INVALID,
    ErrorCode.POLICY_VIOLATION: _INVALID,
    ErrorCode.OFFSET_METADATA_TOO_LARGE: _INVALID,
}


def problem_words(code: int) -> Words:
    known = CODES.get(code)
    name = known.name if known else KafkaError(code).name()
    sentence = known.message if known else KafkaError(code).str()
    if code in _WORDS:
        return _WORDS[code]._replace(name=name, sentence=sentence)
    if known is not None and known.retriable:
        return Words(503, "Try again", "this passes: try again in a moment", name, sentence)
    return Words(
        502, "Refused by the broker", advice_for(code) or "the detail is the broker's own sentence", name, sentence
    )
