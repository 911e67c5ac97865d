"""A query that copies a topic exactly once, killed with -9: at every step of the sink, and at random.

What is judged is the target topic as a read_committed consumer sees it: every row of the origin, each once.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from test_sink import read_all

from headrace.testing import Broker

HERE = Path(__file__).parent
PARTITIONS = 3
START_SECONDS = 120.0
RUN_SECONDS = 300.0

# Between every two steps of a task: what it asks, and whether it had the answer.
BEGIN = ["InitProducerIdRequest:answered", "OffsetFetchRequest:answered", "AddPartitionsToTxnRequest:sent"]
WRITE = ["AddPartitionsToTxnRequest:answered", "ProduceRequest:sent", "ProduceRequest:answered"]
COMMIT = [
    "AddOffsetsToTxnRequest:answered",
    "TxnOffsetCommitRequest:answered",
    "EndTxnRequest:sent",
    "EndTxnRequest:answered",
]


class Copy:
    """The program in a process group of its own."""

    def __init__(self, *arguments: str, environ: dict[str, str] | None = None) -> None:
        command = [sys.executable, str(HERE / "copy_program.py"), *arguments]
        # A shell first, so that the group is known before anything starts.
        shell = ["/bin/sh", "-c", 'KILL_GROUP=$$ exec "$@"', "sh", *command]
        self.process = subprocess.Popen(
            shell,
            env={**os.environ, **(environ or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def kill(self) -> None:
        """Driver and JVM at once. Its Python workers end when their JVM is gone."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate(timeout=RUN_SECONDS)

    def until_running(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == "running", self.process.communicate(timeout=60)[1]

    def wait(self, seconds: float = RUN_SECONDS) -> int:
        _, self.errors = self.process.communicate(timeout=seconds)
        return self.process.returncode


@contextmanager
def a_copy(*arguments: str, environ: dict[str, str] | None = None) -> Iterator[Copy]:
    copy = Copy(*arguments, environ=environ)
    try:
        yield copy
    finally:
        if copy.process.poll() is None:
            copy.kill()


def fill(bootstrap: str, topic: str, rows: int) -> list[bytes]:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 50})
    values = [f"row-{number}".encode() for number in range(rows)]
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS)
    assert producer.flush(60) == 0
    return values


def assert_each_once(broker: Broker, target: str, values: list[bytes]) -> None:
    seen = Counter(message.value() for message in read_all(broker.bootstrap, target, PARTITIONS))
    assert sum(seen.values()) == len(values)
    assert seen == Counter(values)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("steps", [BEGIN, WRITE, COMMIT], ids=["begin", "write", "commit"])
def test_killed_at_every_step_of_the_sink(
    broker: Broker, new_topic: Callable[..., str], tmp_path: Path, steps: list[str]
) -> None:
    origin, target, armed = new_topic(PARTITIONS), new_topic(PARTITIONS), tmp_path / "armed"
    values = fill(broker.bootstrap, origin, 100 * (len(steps) + 2))
    arguments = ("local[2]", broker.bootstrap, origin, target, str(tmp_path / "checkpoint"), "100")
    for step in steps:
        armed.touch()
        environ = {"KILL_AT": step, "KILL_ONCE": str(armed), "PYTHONPATH": str(HERE / "kill_switch")}
        with a_copy(*arguments, environ=environ) as copy:
            assert copy.wait() == -signal.SIGKILL, f"{step}: {copy.errors}"
        assert not armed.exists(), f"{step} was not reached"
    with a_copy(*arguments) as copy:
        assert copy.wait() == 0, copy.errors
    assert_each_once(broker, target, values)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_killed_at_random_with_workers_and_broker(new_topic: Callable[..., str], tmp_path: Path) -> None:
    chance = random.Random(7)
    with Broker({"num.partitions": PARTITIONS}, data=tmp_path / "broker") as broker:
        origin, target = "origin", "target"
        values = fill(broker.bootstrap, origin, 6000)
        # Four tries for a task: one whose worker is killed is run again.
        arguments = ("local[2,4]", broker.bootstrap, origin, target, str(tmp_path / "checkpoint"), "150")
        for _ in range(4):
            with a_copy(*arguments) as copy:
                copy.until_running()
                time.sleep(chance.uniform(1.0, 8.0))
                kill_a_worker(copy.process.pid, chance)
                time.sleep(chance.uniform(0.0, 2.0))
                broker.kill()
                time.sleep(chance.uniform(0.0, 1.0))
                broker.start()
                time.sleep(chance.uniform(0.0, 4.0))
                copy.kill()
        with a_copy(*arguments) as copy:
            assert copy.wait() == 0, copy.errors
        assert_each_once(broker, target, values)


def kill_a_worker(driver: int, chance: random.Random) -> None:
    """One of the Python processes that run tasks, if there is any at this moment."""
    import psutil

    family = psutil.Process(driver).children(recursive=True)
    workers = [each for each in family if "pyspark.daemon" in " ".join(_command(each))]
    if workers:
        chance.choice(workers).kill()


def _command(process) -> list[str]:
    import psutil

    try:
        return process.cmdline()
    except psutil.Error:
        return []
