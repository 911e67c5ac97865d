"""librdkafka as `produce` and `consume` use it: its settings, and its errors in plain words."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError

from headrace.cli.client_file import client_settings
from headrace.cli.explain import NO_ANSWER, NO_TOPIC, UNSUPPORTED, explained
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.reachable import CONNECT_SECONDS
from headrace.client.bearer import for_librdkafka

_OWN_FIXES = {
    KafkaError._TRANSPORT: NO_ANSWER,
    KafkaError._ALL_BROKERS_DOWN: NO_ANSWER,
    KafkaError._TIMED_OUT: NO_ANSWER,
    KafkaError._MSG_TIMED_OUT: NO_ANSWER,
    KafkaError._UNKNOWN_TOPIC: NO_TOPIC,
    KafkaError._UNKNOWN_PARTITION: (ExitCode.NOT_FOUND, "`headrace topic describe {topic}` shows the partitions"),
    KafkaError._UNSUPPORTED_FEATURE: UNSUPPORTED,
    KafkaError._INVALID_ARG: (ExitCode.USAGE, ""),
}


def client_config(bootstrap: str, on_error: Callable[[Any], None] | None = None) -> dict[str, Any]:
    return {
        "client.id": "headrace-cli",
        **for_librdkafka(client_settings()),
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "socket.connection.setup.timeout.ms": int(CONNECT_SECONDS * 1000),
        "error_cb": on_error or (lambda _: None),
    }


def client_failure(error: KafkaError, what: str = "", topic: str = "TOPIC") -> Failure:
    """The failure of a command, for an error of librdkafka's own or one that a broker sent."""
    return explained(error.code(), error.str(), what, topic, _OWN_FIXES)
