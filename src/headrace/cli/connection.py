"""A cluster as the commands see it: an admin client that answers or fails in plain words, and fails soon.

librdkafka retries a dead address until its own time-out, so the addresses are first tried with a bare connect.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicDescription

from headrace.cli.client_file import client_settings
from headrace.cli.explain import explained
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.reachable import CONNECT_SECONDS, require_reachable
from headrace.client.bearer import for_librdkafka

REPLY_SECONDS = 15.0

T = TypeVar("T")


def client_config(bootstrap: str, on_error: Callable[[Any], None] | None = None) -> dict[str, Any]:
    return {
        "client.id": "headrace-cli",
        **for_librdkafka(client_settings()),
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "socket.connection.setup.timeout.ms": int(CONNECT_SECONDS * 1000),
        "error_cb": on_error or (lambda _: None),
    }


class Connection:
    def __init__(self, bootstrap: str) -> None:
        require_reachable(bootstrap)
        self.bootstrap = bootstrap
        self.admin = AdminClient(client_config(bootstrap))

    def topic_names(self) -> list[str]:
        try:
            return sorted(self.admin.list_topics(timeout=REPLY_SECONDS).topics)
        except KafkaException as error:
            raise explained(error.args[0], "the broker did not say which topics it has") from None

    def describe(self, names: Sequence[str]) -> list[TopicDescription]:
        if not names:
            return []
        futures = self.admin.describe_topics(TopicCollection(list(names)), request_timeout=REPLY_SECONDS)
        return [answer(futures[name], f"topic {name}", name) for name in names]

    def offsets(self, wanted: Mapping[tuple[str, int], OffsetSpec]) -> dict[tuple[str, int], int | None]:
        """None where the partition has no answer: no leader, or no message as young as the time asked for."""
        if not wanted:
            return {}
        request = {TopicPartition(topic, partition): spec for (topic, partition), spec in wanted.items()}
        futures = self.admin.list_offsets(request, request_timeout=REPLY_SECONDS)
        return {(key.topic, key.partition): _offset(future) for key, future in futures.items()}

    def offset_ranges(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[tuple[str, int], tuple[int | None, int | None]]:
        keys = list(partitions)
        start = self.offsets({key: OffsetSpec.earliest() for key in keys})
        end = self.offsets({key: OffsetSpec.latest() for key in keys})
        return {key: (start[key], end[key]) for key in keys}


def answer(future: "Future[T]", what: str, topic: str = "TOPIC") -> T:
    try:
        return future.result(timeout=REPLY_SECONDS + CONNECT_SECONDS)
    except KafkaException as error:
        raise explained(error.args[0], what, topic) from None
    except TimeoutError:
        raise Failure(
            f"{what}: no answer in {REPLY_SECONDS:.0f} s", "`headrace doctor` looks closer", ExitCode.UNREACHABLE
        ) from None


def _offset(future: "Future[Any]") -> int | None:
    try:
        offset: int = future.result(timeout=REPLY_SECONDS + CONNECT_SECONDS).offset
    except (KafkaException, TimeoutError):
        return None
    return offset if offset >= 0 else None
