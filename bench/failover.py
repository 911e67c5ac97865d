"""Fail-over as a client sees it: kill -9 of one broker of three under load, and the longest time without an ack.

One idempotent producer with default retries writes to all partitions of a topic with three replicas; the figure is the
worst of the partitions. The brokers are spoiled by it, so every run has fresh ones, and each kills another of the three.
A Python client will do here: what is measured lasts seconds.
"""

import os
import signal
import time

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient

from bench.native import ClientError
from bench.scenarios import Figures, Scenario, Stage
from bench.topics import create_topic

RUNS = 5
PARTITIONS = 6
BEFORE_S = 3.0
AFTER_S_MAX = 25.0
# After every partition takes records again: a second stop, if there is one, comes soon after the first.
SETTLED_S = 4.0
FLUSH_S = 60.0
PAUSE_S = 0.005


class Acks:
    """When each partition last acknowledged something, and the longest it ever took."""

    def __init__(self) -> None:
        self.count = 0
        self.failures: list[str] = []
        self._last: dict[int, float] = {}
        self._longest: dict[int, float] = {}

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        partition, now = message.partition(), time.monotonic()
        assert partition is not None
        self.count += 1
        self._longest[partition] = max(self._longest.get(partition, 0.0), now - self._last.get(partition, now))
        self._last[partition] = now

    def start_over(self) -> None:
        """Gaps of the warm-up do not count; the time of each last ack does."""
        self._longest.clear()

    def all_since(self, moment: float) -> bool:
        """Whether every partition has acknowledged something after it."""
        return all(last > moment for last in self._last.values())

    @property
    def worst_gap_s(self) -> float:
        return max(self._longest.values())


def kill_one_of_three(stage: Stage) -> Figures:
    admin = AdminClient({"bootstrap.servers": stage.broker.bootstrap, "log_level": 0})
    name = create_topic(admin, PARTITIONS, fsync=False, copies=3)
    acks = Acks()
    settings = {"enable.idempotence": True, "acks": "all", "linger.ms": 1, "log_level": 0}
    producer = Producer({"bootstrap.servers": stage.broker.bootstrap, **settings})
    _write(producer, name, acks, BEFORE_S)
    acks.start_over()
    victim = stage.broker.pids[stage.round % len(stage.broker.pids)]
    os.kill(victim, signal.SIGKILL)
    _write_until_settled(producer, name, acks)
    left = producer.flush(FLUSH_S)
    if left or acks.failures:
        raise ClientError(f"{left} records were not acknowledged, {len(acks.failures)} failed: {acks.failures[:1]}")
    return {"worst_gap_s": acks.worst_gap_s}


FAILOVER = Scenario("failover", kill_one_of_three, brokers=3, fresh_runs=RUNS)


def _write_until_settled(producer: Producer, name: str, acks: Acks) -> None:
    """An ack that was on its way when the broker died is none of its successor's: so a while later."""
    killed_at = time.monotonic()
    while time.monotonic() - killed_at < AFTER_S_MAX:
        _write(producer, name, acks, SETTLED_S)
        if acks.all_since(time.monotonic() - SETTLED_S / 2) and time.monotonic() - killed_at > 2 * SETTLED_S:
            return


def _write(producer: Producer, name: str, acks: Acks, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for partition in range(PARTITIONS):
            producer.produce(name, b"x" * 100, partition=partition, on_delivery=acks.on_delivery)
        producer.poll(PAUSE_S)
