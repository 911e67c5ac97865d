"""Reads assigned partitions with librdkafka from resolved offsets to resolved ends, and writes what it reads to stdout.

A partition is done when its next offset reaches the end it had at the start. The last offsets may be no messages at all
(transaction markers, compacted away), so librdkafka's end-of-partition event counts as well as the last message.
"""

import sys
from dataclasses import dataclass
from typing import Any, BinaryIO

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from headrace.cli.connection import Connection, client_config
from headrace.cli.explain import explained
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.message import Message, Render
from headrace.cli.messages.start_at import StartAt, first_offset

BATCH_MESSAGES = 1000
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Reading:
    topic: str
    partitions: tuple[int, ...]
    start: StartAt
    follow: bool
    count: int | None
    isolation: str


class Reader:
    def __init__(self, bootstrap: str, reading: Reading) -> None:
        self.reading = reading
        self.connection = Connection(bootstrap)
        self.left = reading.count
        partitions = self._existing_partitions()
        self.ends, self.starts = self._resolve(partitions)
        self.consumer = Consumer(self._config(bootstrap))

    def print_all(self, render: Render) -> None:
        pending = {p for p in self.starts if self.reading.follow or self.starts[p] < self.ends[p]}
        out = sys.stdout.buffer
        try:
            self.consumer.assign([TopicPartition(self.reading.topic, p, self.starts[p]) for p in sorted(pending)])
            while pending and self.left != 0:
                self._print_batch(pending, render, out)
        finally:
            self.consumer.close()
            out.flush()

    def _print_batch(self, pending: set[int], render: Render, out: BinaryIO) -> None:
        wanted = BATCH_MESSAGES if self.left is None else min(BATCH_MESSAGES, self.left)
        for received in self._receive(wanted):
            error = received.error()
            if error is not None:
                self._on_event(error, received, pending)
                continue
            partition = received.partition()
            if partition not in pending:
                continue
            message = to_message(received)
            if self.reading.follow or message.offset < self.ends[partition]:
                out.write(render(message))
                self.left = None if self.left is None else self.left - 1
            self._on_position(partition, message.offset + 1, pending)
        # Whoever follows wants to see a message when it comes, not when a buffer is full.
        out.flush()

    def _receive(self, wanted: int) -> list[Any]:
        """Waits for the first only: `consume` alone would hold it back until all that are wanted have come."""
        first = self.consumer.poll(POLL_SECONDS)
        if first is None:
            return []
        return [first, *(self.consumer.consume(wanted - 1, timeout=0) if wanted > 1 else ())]

    def _on_event(self, error: KafkaError, received: Any, pending: set[int]) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            self._on_position(received.partition(), received.offset(), pending)
        elif error.fatal() or not (error.retriable() or error.code() in _NO_END):
            raise explained(error, f"reading {self.reading.topic} stopped", self.reading.topic)

    def _on_position(self, partition: int, next_offset: int, pending: set[int]) -> None:
        if not self.reading.follow and next_offset >= self.ends[partition]:
            pending.discard(partition)

    def _existing_partitions(self) -> list[int]:
        topic = self.reading.topic
        existing = sorted(part.id for part in self.connection.describe([topic])[0].partitions)
        for partition in self.reading.partitions:
            if partition not in existing:
                raise Failure(
                    f"topic {topic} has no partition {partition}",
                    f"its partitions are 0 to {existing[-1]}",
                    ExitCode.NOT_FOUND,
                )
        return sorted(set(self.reading.partitions)) or existing

    def _resolve(self, partitions: list[int]) -> tuple[dict[int, int], dict[int, int]]:
        topic, start = self.reading.topic, self.reading.start
        ranges = self.connection.offset_ranges((topic, p) for p in partitions)
        by_time: dict[tuple[str, int], int | None] = {}
        if start.kind == "time":
            by_time = self.connection.offsets({(topic, p): OffsetSpec.for_timestamp(start.number) for p in partitions})
        ends, starts = {}, {}
        for p in partitions:
            earliest, end = ranges[topic, p]
            if earliest is None or end is None:
                raise Failure(
                    f"partition {p} of {topic} has no leader that answers",
                    f"`headrace topic describe {topic}` shows which broker should lead it: start that one",
                    ExitCode.UNREACHABLE,
                )
            ends[p], starts[p] = end, first_offset(start, earliest, end, by_time.get((topic, p)))
            self._require_held(p, starts[p], earliest, end)
        return ends, starts

    def _require_held(self, partition: int, offset: int, earliest: int, end: int) -> None:
        if not earliest <= offset <= end:
            raise Failure(
                f"partition {partition} of {self.reading.topic} does not hold offset {offset}",
                f"it holds {earliest} to {end - 1}" if end > earliest else "it is empty",
                ExitCode.NOT_FOUND,
            )

    def _config(self, bootstrap: str) -> dict[str, Any]:
        return {
            **client_config(bootstrap),
            # librdkafka wants a name even where no group is joined; nothing is ever committed under it.
            "group.id": "headrace-cli",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": self.reading.isolation,
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
        }


# Passing troubles of one connection: librdkafka connects again by itself, and the partition goes on where it was.
PASSING = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._UNSUPPORTED_FEATURE,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}

# librdkafka looks for the coordinator of a group that is never joined, and may not be this user's to read.
_NO_END = PASSING | {KafkaError.GROUP_AUTHORIZATION_FAILED}


def to_message(received: Any) -> Message:
    _, timestamp = received.timestamp()
    return Message(
        received.topic(),
        received.partition(),
        received.offset(),
        timestamp,
        received.key(),
        received.value(),
        received.headers() or [],
    )
