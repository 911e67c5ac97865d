"""Spark's own Kafka connector, unmodified, against Headrace: writes and reads, batch and stream.

Its jars come from Maven, once, and must be there when the JVM starts: so a session of its own, in a process of its own.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.testing import Broker

RUN_SECONDS = 400.0


@pytest.fixture(scope="module")
def jars() -> str:
    from bench.spark_connector import jars

    try:
        return jars()
    except SystemExit as missing:
        pytest.skip(str(missing))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_spark_s_own_connector_writes_and_reads(
    broker: Broker, new_topic: Callable[..., str], jars: str, tmp_path: Path
) -> None:
    one, two = new_topic(3), new_topic(3)
    program = Path(__file__).with_name("official_program.py")
    command = [sys.executable, str(program), jars, broker.bootstrap, one, two, str(tmp_path / "checkpoint")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout.splitlines()[-1])
    rows = [[f"k{number % 10}", f"v{number}"] for number in range(2000)]
    assert sorted(seen["batch"]) == sorted(rows)
    assert sorted(seen["streamed"]) == sorted(rows)
    assert sorted(seen["ours"]) == sorted(rows)
    homes = {(key, partition) for key, partition in seen["homes"]}
    assert len(homes) == 10, "both sinks give a key the same partition"
