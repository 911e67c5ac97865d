"""Reads assigned partitions with librdkafka from resolved offsets to resolved ends, and writes what it reads to stdout.

A partition is done when its next offset reaches the end it had at the start. The last offsets may be no messages at all
(transaction markers, compacted away), so librdkafka's end-of-partition event counts as well as the last message.
"""

import sys
from dataclasses import dataclass
from typing import Any, BinaryIO

from confluent_kafka import Consumer, KafkaError, TopicPartition

from headrace.admin.admin import Admin
from headrace.cli.connection import with_admin
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.held import held_by, seen_topic
from headrace.cli.messages.librdkafka import client_config, client_failure
from headrace.cli.messages.message import Render, ShownMessage
from headrace.cli.messages.start_at import StartAt, first_offset

BATCH_MESSAGES = 1000
CONSUME_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class ReadingAsked:
    topic: str
    partitions: tuple[int, ...]
    start: StartAt
    follow: bool
    count: int | None
    isolation: str


class Reader:
    def __init__(self, bootstrap: str, reading: ReadingAsked) -> None:
        self.reading = reading
        self.left = reading.count
        self.starts, self.ends = with_admin(bootstrap, lambda admin: bounds(admin, reading))
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
        first = self.consumer.poll(CONSUME_POLL_SECONDS)
        if first is None:
            return []
        return [first, *(self.consumer.consume(wanted - 1, timeout=0) if wanted > 1 else ())]

    def _on_event(self, error: KafkaError, received: Any, pending: set[int]) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            self._on_position(received.partition(), received.offset(), pending)
        elif error.fatal() or not (error.retriable() or error.code() in _NO_END):
            raise client_failure(error, f"reading {self.reading.topic} stopped", self.reading.topic)

    def _on_position(self, partition: int, next_offset: int, pending: set[int]) -> None:
        if not self.reading.follow and next_offset >= self.ends[partition]:
            pending.discard(partition)

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


async def bounds(admin: Admin, reading: ReadingAsked) -> tuple[dict[int, int], dict[int, int]]:
    """The first offset to read of each partition, and the end that each has now."""
    starts, ends = {}, {}
    partitions = await _existing_partitions(admin, reading)
    for partition, held in (await held_by(admin, reading.topic, partitions, reading.start)).items():
        if held.start is None or held.end is None:
            raise Failure(
                f"partition {partition} of {reading.topic} has no leader that answers",
                f"`headrace topic describe {reading.topic}` shows which broker should lead it: start that one",
                ExitCode.UNREACHABLE,
            )
        starts[partition] = first_offset(reading.start, held.start, held.end, held.at_time)
        ends[partition] = held.end
        if not held.start <= starts[partition] <= held.end:
            raise Failure(
                f"partition {partition} of {reading.topic} does not hold offset {starts[partition]}",
                f"it holds {held.start} to {held.end - 1}" if held.end > held.start else "it is empty",
                ExitCode.NOT_FOUND,
            )
    return starts, ends


async def _existing_partitions(admin: Admin, reading: ReadingAsked) -> list[int]:
    existing = [each.partition_index for each in (await seen_topic(admin, reading.topic)).partitions]
    for partition in reading.partitions:
        if partition not in existing:
            raise Failure(
                f"topic {reading.topic} has no partition {partition}",
                f"its partitions are 0 to {existing[-1]}",
                ExitCode.NOT_FOUND,
            )
    return sorted(set(reading.partitions)) or existing


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


def to_message(received: Any) -> ShownMessage:
    _, timestamp = received.timestamp()
    return ShownMessage(
        received.topic(),
        received.partition(),
        received.offset(),
        timestamp,
        received.key(),
        received.value(),
        received.headers() or [],
    )
