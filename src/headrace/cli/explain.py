"""Kafka's error codes in plain words: what kind of failure, and what a person can do about it.

The cause is the broker's own sentence where it sent one. A code that is not in the table is a plain failure.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from headrace.base.errors import Refused
from headrace.cli.failure import ExitCode, Failure
from headrace.wire.codes import ErrorCode, advice_for

NO_ANSWER: Final = (
    ExitCode.UNREACHABLE,
    "check that the broker runs (`headrace doctor`) and that its advertised address is right",
)
NO_TOPIC: Final = (
    ExitCode.NOT_FOUND,
    "`headrace topic list` shows the topics, `headrace topic create {topic}` makes this one",
)
UNSUPPORTED: Final = (ExitCode.REFUSED, "this broker does not offer that; `headrace version` shows ours")

_FIXES: dict[int, tuple[ExitCode, str]] = {
    ErrorCode.REQUEST_TIMED_OUT: NO_ANSWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: NO_TOPIC,
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        ExitCode.NOT_FOUND,
        "`headrace topic describe {topic}` shows the offsets that exist",
    ),
    ErrorCode.TOPIC_ALREADY_EXISTS: (
        ExitCode.REFUSED,
        "choose another name, or change it with `headrace topic alter {topic}`",
    ),
    ErrorCode.INVALID_CONFIG: (
        ExitCode.REFUSED,
        "`headrace topic describe TOPIC --all-configs` shows the configs that exist",
    ),
    ErrorCode.MESSAGE_TOO_LARGE: (
        ExitCode.REFUSED,
        "send smaller messages, or raise the limit: `headrace topic alter {topic} --config max.message.bytes=BYTES`",
    ),
    ErrorCode.KAFKA_STORAGE_ERROR: (ExitCode.REFUSED, "free disk space on the broker (`headrace doctor` there)"),
    ErrorCode.UNSUPPORTED_VERSION: UNSUPPORTED,
    ErrorCode.TOPIC_DELETION_DISABLED: (ExitCode.REFUSED, "start the brokers with --set delete.topic.enable=true"),
    ErrorCode.GROUP_ID_NOT_FOUND: (ExitCode.NOT_FOUND, "`headrace group list` shows the groups"),
    ErrorCode.NON_EMPTY_GROUP: (ExitCode.REFUSED, "stop its members first; `headrace group members` shows them"),
    ErrorCode.UNKNOWN_MEMBER_ID: (ExitCode.REFUSED, "stop its members first; `headrace group members` shows them"),
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


def explained(
    error: int,
    sentence: str,
    what: str = "",
    topic: str = "TOPIC",
    fixes: Mapping[int, tuple[ExitCode, str]] = _FIXES,
) -> Failure:
    """`what` was being done, as the start of the sentence; `topic` completes the commands in the fix; `fixes` are for
    codes that are not Kafka's.
    """
    code, fix = fixes.get(error) or _FIXES.get(error, (ExitCode.FAILED, ""))
    cause = sentence.strip().rstrip(".")
    return Failure(f"{what}: {cause}" if what else cause, fix.format(topic=topic), code)


@contextmanager
def explaining(what: str = "", topic: str = "TOPIC") -> Iterator[None]:
    """Turns a broker's refusal into the failure of a command."""
    try:
        yield
    except Refused as refusal:
        raise explained(refusal.code, refusal.message, what, topic) from None
