"""A read whose Python workers are killed with -9, again and again: a task that runs again yields the same rows."""

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from test_sink_exactly_once import PARTITIONS, fill

from headrace.testing import Broker

RUN_SECONDS = 400.0
ROWS = 12_000


@pytest.mark.long
@pytest.mark.timeout(600)
def test_rows_read_are_rows_written_whatever_workers_die(
    broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, out = new_topic(PARTITIONS), tmp_path / "rows"
    values = fill(broker.bootstrap, topic, ROWS)
    # Eight tries for a task: one whose worker is killed is run again.
    arguments = ["local[2,8]", broker.bootstrap, topic, str(tmp_path / "checkpoint"), str(out)]
    program = [sys.executable, str(Path(__file__).parent / "read_program.py"), *arguments]
    chance, killed = random.Random(11), 0
    with (
        (tmp_path / "errors").open("w") as errors,
        subprocess.Popen(program, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None and process.stdout.readline() == "running\n"
            # A new worker needs a second or two before it can do anything at all.
            while _is_running(process, chance.uniform(0.5, 5.0)):
                killed += _kill_a_worker(process.pid, chance)
        finally:
            process.kill()
    assert process.returncode == 0, (tmp_path / "errors").read_text()[-4000:]
    assert killed >= 3, "the read was over before its workers could be killed"
    assert sorted(out.read_bytes().split(b"\n")) == sorted(values)


def _is_running(process: "subprocess.Popen[str]", seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _kill_a_worker(driver: int, chance: random.Random) -> int:
    """One of those that run tasks, not the daemon that forks them; how many that were."""
    try:
        family = psutil.Process(driver).children(recursive=True)
        workers = [each for each in family if _is_worker(each)]
        if not workers:
            return 0
        chance.choice(workers).send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return 0
    return 1


def _is_worker(process: psutil.Process) -> bool:
    def is_of_tasks(each: psutil.Process | None) -> bool:
        return each is not None and each.cmdline()[-2:] == ["pyspark.daemon", "pyspark.worker"]

    try:
        return is_of_tasks(process) and is_of_tasks(process.parent())
    except psutil.Error:
        return False
