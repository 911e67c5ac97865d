"""Three brokers with many partitions, through their life: created, served, one broker lost and back, all restarted.

Each step says how long it took under its own name. What must hold is asserted on the way, so that the same story is a
test (tests/scale) and a measurement (`python -m bench.partition_curve`).
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench import proc
from headrace.admin.admin import Admin
from headrace.testing import Cluster
from headrace.wire.codec import encoded
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)

BROKERS = 3
VICTIM = 1
NOBODY = -1
BATCH_TOPICS = 100
SAMPLED_TOPICS = 20
PATIENCE_S = 180.0
_METADATA_VERSION = 12
_CLIENT: dict[str, str | int | float] = {"log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}


class Size(NamedTuple):
    topics: int
    partitions: int
    replicas: int

    @classmethod
    def parse(cls, text: str) -> "Size":
        return cls(*map(int, text.split("x")))

    @property
    def total(self) -> int:
        return self.topics * self.partitions


@dataclass
class Story:
    """`figures` are seconds, megabytes and counts by name, as far as the story has come."""

    cluster: Cluster
    size: Size
    say: Callable[[str], None] = print
    idle_seconds: float = 5.0
    figures: dict[str, float] = field(default_factory=dict)
    _written: dict[tuple[str, int], int] = field(default_factory=dict)

    def play(self) -> dict[str, float]:
        self._timed("start_empty_s", self.cluster.start)
        self._timed("create_s", self._create, "create_cpu_s")
        self._look("created")
        self._timed("serve_s", self._serve)
        self._timed("failover_s", self._lose_a_broker)
        self._timed("back_s", self._take_it_back)
        self._serve()
        self._timed("stop_s", self.cluster.stop)
        self._timed("restart_s", self.cluster.start, "restart_cpu_s")
        self._timed("led_again_s", self._until_all_led)
        self._serve()
        self._look("restarted")
        return self.figures

    def _timed(self, name: str, step: Callable[[], object], cpu_name: str = "") -> None:
        """`cpu_name` is for what a broker itself needed: on a busy machine that says more than the clock."""
        began, cpu = time.monotonic(), self._cpu_seconds()
        step()
        self._note(name, time.monotonic() - began)
        if cpu_name:
            self._note(cpu_name, (self._cpu_seconds() - cpu) / BROKERS)

    def _cpu_seconds(self) -> float:
        return proc.cpu_seconds([self.cluster.pid(each) for each in self.cluster.ids if self.cluster.running(each)])

    def _note(self, name: str, value: float) -> None:
        self.figures[name] = value
        self.say(f"  {name:<24} {value:10.2f}")

    def _look(self, when: str) -> None:
        pids = [self.cluster.pid(number) for number in self.cluster.ids]
        # What the step before left to do is done first.
        time.sleep(self.idle_seconds)
        cpu, began = self._cpu_seconds(), time.monotonic()
        time.sleep(self.idle_seconds)
        idle = (self._cpu_seconds() - cpu) / (time.monotonic() - began) / BROKERS
        self._note(f"idle_cpu_{when}_percent", idle * 100)
        self._note(f"rss_{when}_mb", proc.rss_mb(pids) / BROKERS)
        self._note(f"files_{when}", max(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids))
        store = sum(path.stat().st_size for path in self.cluster.data.glob("meta/metadata.sqlite*"))
        self._note(f"store_{when}_mb", store / 1e6)
        began = time.monotonic()
        reply = self._metadata(None)
        self._note(f"metadata_{when}_s", time.monotonic() - began)
        self._note(f"metadata_{when}_mb", len(encoded(reply, _METADATA_VERSION)) / 1e6)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _create(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap, **_CLIENT})
        for first in range(0, self.size.topics, BATCH_TOPICS):
            numbers = range(first, min(first + BATCH_TOPICS, self.size.topics))
            wanted = [NewTopic(_name(each), self.size.partitions, self.size.replicas) for each in numbers]
            created = admin.create_topics(wanted, request_timeout=PATIENCE_S, operation_timeout=PATIENCE_S)
            for future in created.values():
                future.result()
        self._until_all_led()

    def _serve(self) -> None:
        """A record into every partition of the sampled topics, acknowledged by all; and all of them read back."""
        self._write(self._partitions())
        self._read_back()

    def _lose_a_broker(self) -> None:
        """Until all that others can lead is led by them, and takes records."""
        self.cluster.kill(VICTIM)
        refused = {VICTIM} if self.size.replicas == 1 else {VICTIM, NOBODY}
        self._until(lambda: refused.isdisjoint(part.leader_id for part in self._states().values()))
        self._write(id for id, part in self._states().items() if part.leader_id >= 0)

    def _take_it_back(self) -> None:
        self.cluster.start(VICTIM)
        self._until_all_led()
        self._until(lambda: all(len(part.isr_nodes) == self.size.replicas for part in self._states().values()))

    def _until_all_led(self) -> None:
        """First the sample, which costs the brokers little, then all of them."""
        self._until(lambda: NOBODY not in [part.leader_id for part in self._states().values()])
        self._until(self._is_all_led)

    def _is_all_led(self) -> bool:
        topics = [topic for topic in self._metadata(None).topics if not topic.is_internal]
        led = [part.leader_id >= 0 for topic in topics for part in topic.partitions]
        assert len(led) == self.size.total, f"{len(led)} partitions, not {self.size.total}"
        return all(led)

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"not in {PATIENCE_S:.0f} s: {self.figures}"
            time.sleep(0.05)

    # -- traffic -----------------------------------------------------------------------------------------------------

    def _sampled(self) -> list[str]:
        """From the first to the last, evenly."""
        count = min(SAMPLED_TOPICS, self.size.topics)
        return [_name(each * (self.size.topics - 1) // max(1, count - 1)) for each in range(count)]

    def _partitions(self) -> list[tuple[str, int]]:
        return [(topic, index) for topic in self._sampled() for index in range(self.size.partitions)]

    def _write(self, partitions: Iterable[tuple[str, int]]) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "acks": "all", "linger.ms": 1, **_CLIENT})
        errors: list[str] = []
        for topic, index in partitions:
            self._written[topic, index] = number = self._written.get((topic, index), 0) + 1
            producer.produce(
                topic,
                f"{number}".encode(),
                partition=index,
                on_delivery=lambda error, _: errors.append(str(error)) if error else None,
            )
        assert producer.flush(PATIENCE_S) == 0, "records were not acknowledged"
        assert not errors, errors

    def _read_back(self) -> None:
        consumer = Consumer({"bootstrap.servers": self.cluster.bootstrap, "group.id": "unused", **_CLIENT})
        found: dict[tuple[str, int], list[int]] = {id: [] for id in self._written}
        try:
            consumer.assign([TopicPartition(*id, OFFSET_BEGINNING) for id in self._written])
            deadline = time.monotonic() + PATIENCE_S
            while sum(map(len, found.values())) < sum(self._written.values()) and time.monotonic() < deadline:
                for message in consumer.consume(1000, 0.2):
                    assert message.error() is None, message.error()
                    found[str(message.topic()), int(message.partition() or 0)].append(int(message.value() or 0))
        finally:
            consumer.close()
        assert found == {id: list(range(1, count + 1)) for id, count in self._written.items()}

    # -- looking -----------------------------------------------------------------------------------------------------

    def _states(self) -> dict[tuple[str, int], MetadataResponsePartition]:
        topics = self._metadata(self._sampled()).topics
        return {(topic.name or "", part.partition_index): part for topic in topics for part in topic.partitions}

    def _metadata(self, topics: list[str] | None) -> MetadataResponse:
        """Of a broker that runs: all topics, or some."""
        running = [self.cluster.options(number) for number in self.cluster.ids if self.cluster.running(number)]
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]

        async def ask() -> MetadataResponse:
            admin = Admin([(each.host, each.port) for each in running], "scale")
            try:
                return await admin.ask(MetadataRequest(wanted, allow_auto_topic_creation=False), MetadataResponse)
            finally:
                admin.close()

        return asyncio.run(ask())


def _name(number: int) -> str:
    return f"scale-{number:05d}"
