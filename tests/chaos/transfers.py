"""Exactly once through the storm: two movers of one group copy a topic in transactions that carry the group's offsets.

Whatever happens to brokers, coordinators and movers, a read_committed reader finds each acknowledged record of the source
once in the target, in the order of its partition.
"""

import contextlib
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from chaos.cluster import until
from chaos.guest import Guest
from chaos.ledger import Ledger, Place
from chaos.load import Load
from chaos.reader import read_all

SOURCE, TARGET, GROUP = "transfer-source", "transfer-target", "transfers"
PARTITIONS = 2
BATCH = 50
CALL_SECONDS = 10.0
DRAIN_SECONDS = 120.0
_SOON = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "socket.timeout.ms": 3_000, "log_level": 0}


class Transfers(Guest):
    threads = 2

    def prepare(self) -> None:
        self._source = self.cluster.create_topic(SOURCE, PARTITIONS, {})
        self._target = self.cluster.create_topic(TARGET, PARTITIONS, {})
        self._ledger = Ledger()
        self._load = Load(
            "source", self.cluster.bootstrap, self._ledger, self._source, idempotent=True, burst_seconds=0.2
        )
        self._load.start()

    def finish(self) -> None:
        """All of the source is acknowledged, and the movers have come to its end."""
        self._load.stop()
        self.failures += self._load.failures
        end = {(SOURCE, place[1]): len(found) for place, found in self._read(self._source).items()}
        until(lambda: self._committed() == end, DRAIN_SECONDS, lambda: f"moved {self._committed()} of {end}")

    def abandon(self) -> None:
        if not self.stopping.is_set():
            self._load.abandon()
        super().abandon()

    def check(self) -> list[str]:
        source, target = self._read(self._source), self._read(self._target)
        broken = self._ledger.check(source, ["source"], one_leader=False)
        for partition in range(PARTITIONS):
            wanted = [record.written for record in source[SOURCE, partition]]
            moved = [record.written for record in target[TARGET, partition]]
            if wanted != moved:
                broken.append(f"{self.name}: partition {partition}: {_difference(wanted, moved)}")
        return broken

    def _read(self, places: list[Place]) -> dict:
        return read_all(self.cluster.bootstrap, places, isolation_level="read_committed")

    def _committed(self) -> dict[Place, int]:
        consumer = Consumer({"bootstrap.servers": self.cluster.bootstrap, "group.id": GROUP, **_SOON})
        try:
            wanted = [TopicPartition(*place) for place in self._source]
            found = consumer.committed(wanted, timeout=CALL_SECONDS)
            return {(each.topic, each.partition): each.offset for each in found}
        except KafkaException:
            return {}
        finally:
            consumer.close()

    def work(self, number: int) -> None:
        while not self.stopping.is_set():
            # A mover that meets any error is replaced: the next of its transactional id ends what it left open.
            with contextlib.suppress(KafkaException):
                self._move(number)

    def _move(self, number: int) -> None:
        bootstrap = {"bootstrap.servers": self.cluster.bootstrap, **_SOON}
        producer = Producer(
            {**bootstrap, "transactional.id": f"mover-{number}", "transaction.timeout.ms": 10_000, "linger.ms": 2}
        )
        producer.init_transactions(CALL_SECONDS)
        consumer = Consumer(
            {
                **bootstrap,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 6_000,
            }
        )
        try:
            consumer.subscribe([SOURCE])
            while not self.stopping.is_set():
                messages = [each for each in consumer.consume(BATCH, timeout=0.2) if each.error() is None]
                if messages:
                    self._copy(producer, consumer, messages)
        finally:
            consumer.close()

    def _copy(self, producer: Producer, consumer: Consumer, messages: list[Message]) -> None:
        producer.begin_transaction()
        ends: dict[Place, int] = {}
        for message in messages:
            producer.produce(TARGET, message.value(), partition=message.partition())
            ends[message.topic(), message.partition()] = message.offset() + 1
        offsets = [TopicPartition(*place, offset) for place, offset in ends.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), CALL_SECONDS)
        _commit(producer)
        self.note_done(len(messages))


def _commit(producer: Producer) -> None:
    """Asked again as long as it may still succeed: to give up would leave the outcome open."""
    deadline = time.monotonic() + 3 * CALL_SECONDS
    while True:
        try:
            return producer.commit_transaction(CALL_SECONDS)
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise


def _difference(wanted: list, moved: list) -> str:
    lost, twice = Counter(wanted) - Counter(moved), Counter(moved) - Counter(wanted)
    return f"{len(wanted)} to move, {len(moved)} there; lost {list(lost)[:5]}, too many {list(twice)[:5]}"
