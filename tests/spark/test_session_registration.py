"""`headrace.spark.register` in a plain SparkSession, where the first python3 on PATH has no Headrace."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.spark.sessions.java import java_home
from headrace.testing import Broker

PROGRAM = Path(__file__).with_name("plain_session.py")
SECONDS = 500


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A folder for PATH; its python3 sees no installed packages."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "python3"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    script.chmod(0o755)
    return folder


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_plain_session_is_told_of_the_source(
    broker: Broker, new_topic: Callable[..., str], bare_python: Path, tmp_path: Path
) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environ |= {"PATH": f"{bare_python}{os.pathsep}{environ['PATH']}", "JAVA_HOME": str(java_home())}
    command = [sys.executable, str(PROGRAM), broker.bootstrap, new_topic(), str(tmp_path)]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.split("\n")[:3] == ["NOT FOUND before", "READ a b", "STREAMED 2"], ran.stdout
