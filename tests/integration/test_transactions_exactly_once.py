"""Consume, transform, produce, on three brokers, under kill -9 of brokers and of the program itself: what comes out is
what went in, each record once and in order."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from clients.build import MissingTool, franz_go
from clients.confluent import Confluent
from clients.line_driver import java_command
from eventually import until
from headrace.testing import Cluster

TESTS = Path(__file__).resolve().parents[1]
PARTITIONS = 3
QUIET = {"log_level": 0}


def confluent_copier() -> list[str]:
    return [sys.executable, "-m", "clients.confluent_copier"]


def java_copier() -> list[str]:
    try:
        return java_command("Copier")
    except MissingTool as missing:
        pytest.skip(str(missing))


def go_copier() -> list[str]:
    try:
        return [str(franz_go()), "copy"]
    except MissingTool as missing:
        pytest.skip(str(missing))


class Copier:
    """The program under test, begun again whenever it ends."""

    def __init__(self, command: list[str], errors: Path) -> None:
        self._command = command
        self._errors = errors
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def keep_running(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self.starts += 1
            with self._errors.open("ab") as errors:
                self._process = subprocess.Popen(
                    self._command, cwd=TESTS, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
                )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Job:
    def __init__(self, cluster: Cluster, command: list[str], directory: Path) -> None:
        self.cluster = cluster
        self.source, self.sink = "source", "sink"
        admin = Confluent(cluster.bootstrap)
        for topic in (self.source, self.sink):
            admin.create_topic(topic, PARTITIONS)
        arguments = [cluster.bootstrap, self.source, self.sink, "copiers", "copier-1"]
        self.errors = directory / "copier.log"
        self.copier = Copier([*command, *arguments], self.errors)
        self.sent = 0
        self._producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, **QUIET})

    def send(self, count: int) -> None:
        for _ in range(count):
            self._producer.produce(self.source, f"{self.sent}".encode(), partition=self.sent % PARTITIONS)
            self.sent += 1
        assert self._producer.flush(60) == 0

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.copier.keep_running()
            time.sleep(0.1)

    def until_copied(self, seconds: float) -> None:
        """Until the sink shows as many records as were sent; then they are compared."""

        def copied_all(found: dict[int, list[int]]) -> bool:
            self.copier.keep_running()
            return sum(map(len, found.values())) >= self.sent

        copied = until(self._read_all, copied_all, seconds, lambda: self.errors.read_text()[-3000:])
        for partition, values in copied.items():
            assert values == list(range(partition, self.sent, PARTITIONS)), self.errors.read_text()[-3000:]

    def _read_all(self) -> dict[int, list[int]]:
        return {partition: self._read(partition) for partition in range(PARTITIONS)}

    def _read(self, partition: int) -> list[int]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                "group.id": "judge",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                **QUIET,
            }
        )
        consumer.assign([TopicPartition(self.sink, partition, 0)])
        values: list[int] = []
        while (message := consumer.poll(10)) is not None:
            if message.error():
                if message.error().code() == KafkaError._PARTITION_EOF:
                    break
                continue
            values.append(int(message.value()))
        consumer.close()
        return values


@pytest.fixture
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Job]:
    make: Callable[[], list[str]] = request.param
    command = make()
    with Cluster(3, {"group.initial.rebalance.delay.ms": 0}) as cluster:
        made = Job(cluster, command, tmp_path)
        try:
            yield made
        finally:
            made.copier.kill()


def storm(job: Job, seconds: float, seed: int) -> None:
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        job.send(rng.randrange(20, 60))
        job.run(rng.uniform(0.2, 1.0))
        broker = rng.choice(job.cluster.ids)
        match rng.choice(("program", "program", "kill", "kill", "freeze")):
            case "program":
                job.copier.kill()
            case "kill":
                job.cluster.kill(broker)
                job.run(rng.uniform(0.0, 1.5))
                job.cluster.start(broker)
                job.run(rng.uniform(0.5, 2.0))
            case "freeze":
                # Long enough to lose its lease, and wake up as a zombie.
                os.kill(job.cluster.pid(broker), signal.SIGSTOP)
                try:
                    job.run(rng.uniform(1.0, 4.0))
                finally:
                    os.kill(job.cluster.pid(broker), signal.SIGCONT)
                if not job.cluster.running(broker):
                    # Frozen with the lock of the metadata store: the others have ended it.
                    job.cluster.start(broker)
                job.run(rng.uniform(0.5, 2.0))


@pytest.mark.parametrize(
    "job",
    [confluent_copier, *(pytest.param(each, marks=pytest.mark.long) for each in (java_copier, go_copier))],
    indirect=True,
)
@pytest.mark.timeout(180)
def test_each_record_comes_out_once(job: Job) -> None:
    job.send(100)
    job.run(3)
    storm(job, 8, seed=1)
    job.until_copied(90)


@pytest.mark.long
@pytest.mark.parametrize("job", [confluent_copier, java_copier, go_copier], indirect=True)
@pytest.mark.timeout(900)
def test_each_record_comes_out_once_for_minutes(job: Job) -> None:
    seed = int(os.environ.get("HEADRACE_SEED", "0")) or random.randrange(1 << 30)
    print(f"HEADRACE_SEED={seed}")
    job.send(200)
    storm(job, 150, seed)
    job.until_copied(120)
