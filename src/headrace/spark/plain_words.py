"""Failures of a write for readers who know Spark and not our protocol: one sentence and what to do.

Spark shows a failed task by its traceback; the last line of it is what people read, so the cause and the fix stand there.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from headrace.base.errors import Refused, UserError
from headrace.client.connection import Disconnected
from headrace.client.kafka_cluster import MissingTopic
from headrace.wire.codes import ErrorCode, advice_for

_OVERTAKEN = "Spark goes on with another attempt of this task; if not, a second run of this query is alive: stop it"
_CONNECTING: dict[int, str] = {
    ErrorCode.SASL_AUTHENTICATION_FAILED: "look at kafka.sasl.username and kafka.sasl.password, or kafka.sasl.jaas.config",
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: "set kafka.sasl.mechanism to one that the brokers offer",
}
READING: Mapping[int, str] = {
    **_CONNECTING,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask for the right to read the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask for rights on the group, or leave out kafka.group.id",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "look at subscribe, and at kafka.bootstrap.servers if it should be there",
}
WRITING: Mapping[int, str] = {
    **_CONNECTING,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask for the right to write to the topic",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "ask for rights on the prefix transactionalIdPrefix, or set guarantee=at-least-once"
    ),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (
        "ask for rights on the prefix transactionalIdPrefix, or set guarantee=at-least-once"
    ),
    ErrorCode.MESSAGE_TOO_LARGE: "lower kafka.batch.size, or raise max.message.bytes of the topic if one row is that large",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "lower kafka.transaction.timeout.ms to what the brokers allow",
    ErrorCode.PRODUCER_FENCED: _OVERTAKEN,
    ErrorCode.INVALID_PRODUCER_EPOCH: _OVERTAKEN,
    ErrorCode.INVALID_TXN_STATE: "raise kafka.transaction.timeout.ms, or lower the rows per trigger",
}


@contextmanager
def in_plain_words(bootstrap: str, fixes: Mapping[int, str]) -> Iterator[None]:
    """A refusal as a UserError; `fixes` are READING or WRITING."""
    try:
        yield
    except Refused as refused:
        fix = fixes.get(refused.code) or advice_for(refused.code)
        raise UserError(f"the broker refused: {refused.message}", fix) from None
    except MissingTopic as missing:
        raise UserError(f"topic {missing} does not exist", f"create it: headrace topic create {missing}") from None
    except Disconnected as error:
        raise UserError(
            f"no broker answers at {bootstrap}: {error}",
            "look at kafka.bootstrap.servers, and at kafka.security.protocol if the brokers want TLS",
        ) from None
