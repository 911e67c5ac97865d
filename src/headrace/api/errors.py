"""Errors of the API: each says its cause in one line and the fix in the next."""

from confluent_kafka import KafkaError, KafkaException

from headrace.base.errors import UserError
from headrace.wire.codes import ErrorCode, advice_for


class ApiError(UserError):
    """Any failure that the API tells of; `kafka` is the error of the cluster or of librdkafka, where there is one."""

    def __init__(self, cause: str, fix: str = "", kafka: KafkaError | None = None) -> None:
        super().__init__(cause, fix)
        self.kafka = kafka


class Closed(ApiError):
    """A client, producer or consumer was used after its end."""


class UnknownOption(ApiError):
    """A setting that does not exist."""


class Unserialisable(ApiError):
    """A value that is no bytes, text, JSON, model or Avro record."""


class DeliveryFailed(ApiError):
    """A message is not known to be stored."""


class TransactionMisused(ApiError):
    """A call outside its transaction, or inside one where it has no place."""


class TransactionAborted(ApiError):
    """Nothing of the transaction is visible; its messages are read again."""


_UNREACHABLE = (
    "see whether the brokers run (headrace cluster status), whether bootstrap is right, and, where they want TLS or logins, "
    "whether HEADRACE_CONFIG names a file with the settings"
)
_FENCED = advice_for(ErrorCode.PRODUCER_FENCED)
# What helps a program of this API; the rest is advice for everybody.
_FIXES = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: "create it with client.create_topic(name), or check its name",
    KafkaError.TOPIC_ALREADY_EXISTS: "use it as it is (exist_ok=True), or choose another name",
    KafkaError.MSG_SIZE_TOO_LARGE: "send less, or raise max.message.bytes of the topic and message.max.bytes here",
    KafkaError._MSG_TIMED_OUT: f"{_UNREACHABLE}; delivery.timeout.ms is how long to try",
    KafkaError._TRANSPORT: _UNREACHABLE,
    KafkaError._AUTHENTICATION: "see sasl.username, sasl.password and sasl.mechanism, here or in HEADRACE_CONFIG's file",
    KafkaError._SSL: "see security.protocol, ssl.ca.location and the host in bootstrap, here or in HEADRACE_CONFIG's file",
    KafkaError._ALL_BROKERS_DOWN: _UNREACHABLE,
    KafkaError._TIMED_OUT: _UNREACHABLE,
    KafkaError._WAIT_COORD: _UNREACHABLE,
    KafkaError._UNKNOWN_PARTITION: "see client.describe_topic(name).partitions, and whether the brokers run",
    KafkaError._FENCED: _FENCED,
    KafkaError._STATE: "close this producer and make another with client.transactional_producer(id)",
    KafkaError._MAX_POLL_EXCEEDED: "give each body less to do (messages_max), or raise max.poll.interval.ms",
    KafkaError._FATAL: "join again; a group.instance.id belongs to one member alone",
}


def error_of(failure: KafkaException | KafkaError, doing: str, kind: type[ApiError] = ApiError) -> ApiError:
    """The failure of an attempt, with the fix if its code is known to have one."""
    error = failure.args[0] if isinstance(failure, KafkaException) else failure
    if not isinstance(error, KafkaError):
        return kind(f"{doing}: {failure}")
    return kind(f"{doing}: {error.str()} ({error.name()})", fix_of(error), error)


def fix_of(error: KafkaError) -> str:
    return _FIXES.get(error.code()) or advice_for(error.code())
