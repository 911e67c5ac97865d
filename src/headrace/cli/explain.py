"""Kafka's error codes in plain words: what kind of failure, and what a person can do about it.

The cause is the broker's own sentence where it sent one. A code that is not in the table is a plain failure.
"""

from confluent_kafka import KafkaError

from headrace.cli.failure import ExitCode, Failure
from headrace.wire.codes import ErrorCode, advice_for

_NO_ANSWER = (
    ExitCode.UNREACHABLE,
    "check that the broker runs (`headrace doctor`) and that its advertised address is right",
)
_NO_TOPIC = (
    ExitCode.NOT_FOUND,
    "`headrace topic list` shows the topics, `headrace topic create {topic}` makes this one",
)

_FIXES: dict[int, tuple[ExitCode, str]] = {
    KafkaError._TRANSPORT: _NO_ANSWER,
    KafkaError._ALL_BROKERS_DOWN: _NO_ANSWER,
    KafkaError._TIMED_OUT: _NO_ANSWER,
    KafkaError._MSG_TIMED_OUT: _NO_ANSWER,
    KafkaError.REQUEST_TIMED_OUT: _NO_ANSWER,
    KafkaError._UNKNOWN_TOPIC: _NO_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART: _NO_TOPIC,
    KafkaError._UNKNOWN_PARTITION: (ExitCode.NOT_FOUND, "`headrace topic describe {topic}` shows the partitions"),
    KafkaError.OFFSET_OUT_OF_RANGE: (
        ExitCode.NOT_FOUND,
        "`headrace topic describe {topic}` shows the offsets that exist",
    ),
    KafkaError.TOPIC_ALREADY_EXISTS: (
        ExitCode.REFUSED,
        "choose another name, or change it with `headrace topic alter {topic}`",
    ),
    KafkaError.INVALID_CONFIG: (
        ExitCode.REFUSED,
        "`headrace topic describe TOPIC --all-configs` shows the configs that exist",
    ),
    KafkaError.MSG_SIZE_TOO_LARGE: (
        ExitCode.REFUSED,
        "send smaller messages, or raise the limit: `headrace topic alter {topic} --config max.message.bytes=BYTES`",
    ),
    KafkaError.KAFKA_STORAGE_ERROR: (ExitCode.REFUSED, "free disk space on the broker (`headrace doctor` there)"),
    KafkaError.UNSUPPORTED_VERSION: (
        ExitCode.REFUSED,
        "this broker does not offer that; `headrace version` shows ours",
    ),
    KafkaError._UNSUPPORTED_FEATURE: (
        ExitCode.REFUSED,
        "this broker does not offer that; `headrace version` shows ours",
    ),
    KafkaError.TOPIC_DELETION_DISABLED: (ExitCode.REFUSED, "start the brokers with --set delete.topic.enable=true"),
    KafkaError.GROUP_ID_NOT_FOUND: (ExitCode.NOT_FOUND, "`headrace group list` shows the groups"),
    KafkaError.NON_EMPTY_GROUP: (ExitCode.REFUSED, "stop its members first; `headrace group members` shows them"),
    KafkaError.UNKNOWN_MEMBER_ID: (ExitCode.REFUSED, "stop its members first; `headrace group members` shows them"),
    KafkaError._INVALID_ARG: (ExitCode.USAGE, ""),
}
_FIXES |= {
    code: (ExitCode.REFUSED, advice_for(code))
    for code in (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
}


def explained(error: KafkaError, what: str = "", topic: str = "TOPIC") -> Failure:
    """`what` was being done, as the start of the sentence; `topic` completes the commands in the fix."""
    code, fix = _FIXES.get(error.code(), (ExitCode.FAILED, ""))
    cause = error.str().strip().rstrip(".")
    return Failure(f"{what}: {cause}" if what else cause, fix.format(topic=topic), code)
