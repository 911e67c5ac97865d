"""Events among the messages that librdkafka hands to a consumer: some end a reader, the others mend themselves."""

import logging

import confluent_kafka
from confluent_kafka import KafkaError

from headrace.api.errors import error_of

logger = logging.getLogger("headrace.api")

_ENDS = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_MAX_SIZE_REACHED,
        KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        KafkaError.INVALID_GROUP_ID,
        KafkaError.INVALID_SESSION_TIMEOUT,
        KafkaError.INVALID_REGULAR_EXPRESSION,
        KafkaError.UNSUPPORTED_ASSIGNOR,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError.UNRELEASED_INSTANCE_ID,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError._AUTHENTICATION,
        KafkaError._AUTO_OFFSET_RESET,
        KafkaError._FATAL,
        KafkaError._MAX_POLL_EXCEEDED,
    }
)


def is_event(read: confluent_kafka.Message, reader: str) -> bool:
    """Whether this is no message; raises if the reader cannot go on."""
    error = read.error()
    if error is None:
        return False
    if error.fatal() or error.code() in _ENDS:
        raise error_of(error, f"reading {read.topic() or 'as ' + reader}")
    if error.code() != KafkaError._PARTITION_EOF:
        logger.warning("reading as %(client)s: %(cause)s", {"client": reader, "cause": error.str()})
    return True
