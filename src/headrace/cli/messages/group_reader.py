"""`consume --group`: reads as a member of a group, so that several share a topic and each begins where the last ended.

What is printed is committed afterwards: a reader that dies prints some messages again, and skips none. It ends where
every partition that it was given has ended, unless it follows.
"""

import sys
from typing import Any, BinaryIO

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace.cli.messages.held import require_topic
from headrace.cli.messages.librdkafka import client_config, client_failure
from headrace.cli.messages.message import Render
from headrace.cli.messages.reader import BATCH_MESSAGES, CONSUME_POLL_SECONDS, PASSING, ReadingAsked, to_message


class TerminalMember:
    def __init__(self, bootstrap: str, group: str, reading: ReadingAsked) -> None:
        require_topic(bootstrap, reading.topic)
        self.reading = reading
        self.left = reading.count
        self._ended: set[int] = set()
        self._consumer = Consumer(
            {
                **client_config(bootstrap),
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": reading.start.kind,
                "enable.partition.eof": True,
                "isolation.level": reading.isolation,
                "check.crcs": True,
                "fetch.wait.max.ms": 100,
            }
        )

    def print_all(self, render: Render) -> None:
        out = sys.stdout.buffer
        try:
            self._consumer.subscribe([self.reading.topic], on_assign=lambda *_: self._ended.clear())
            while self.left != 0 and not self._is_at_end():
                self._print_batch(render, out)
        finally:
            self._consumer.close()
            out.flush()

    def _is_at_end(self) -> bool:
        if self.reading.follow:
            return False
        assigned = {each.partition for each in self._consumer.assignment()}
        return bool(assigned) and assigned <= self._ended

    def _print_batch(self, render: Render, out: BinaryIO) -> None:
        wanted = BATCH_MESSAGES if self.left is None else min(BATCH_MESSAGES, self.left)
        printed: dict[int, int] = {}
        received: Any
        for received in self._consumer.consume(wanted, timeout=CONSUME_POLL_SECONDS / 5):
            error = received.error()
            if error is not None:
                self._on_event(error, received)
                continue
            out.write(render(to_message(received)))
            self.left = None if self.left is None else self.left - 1
            printed[received.partition()] = received.offset() + 1
            self._ended.discard(received.partition())
        out.flush()
        self._commit(printed)

    def _on_event(self, error: KafkaError, received: Any) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended.add(received.partition())
        elif error.fatal() or not (error.retriable() or error.code() in PASSING):
            raise client_failure(error, f"reading {self.reading.topic} stopped", self.reading.topic)

    def _commit(self, printed: dict[int, int]) -> None:
        if not printed:
            return
        topic = self.reading.topic
        try:
            self._consumer.commit(
                offsets=[TopicPartition(topic, partition, offset) for partition, offset in printed.items()],
                asynchronous=False,
            )
        except KafkaException as failure:
            error: KafkaError = failure.args[0]
            # The group is being shared out anew: whoever gets the partition reads these once more.
            if error.code() not in _MOVED:
                raise client_failure(error, "what was printed could not be committed", topic) from None


_MOVED = {
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError._ASSIGNMENT_LOST,
}
