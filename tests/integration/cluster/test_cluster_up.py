"""A running `headrace up` whose brokers are killed, stopped and started one by one, as the README shows it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli.run.ports import free_port
from headrace.cli.up.control import SOCKET

HOST = "127.0.0.1"


class Up:
    """`headrace up --json` and the commands that go with it."""

    def __init__(self, data: Path, brokers: int) -> None:
        self.data = data
        self.port = free_port(HOST, brokers + 1)
        self.bootstrap = ",".join(f"{HOST}:{self.port + number}" for number in range(brokers + 1))
        self.process = subprocess.Popen(
            self._command(
                *("up", f"--brokers={brokers}", f"--port={self.port}", f"--data={data}"),
                *("--no-gateway", "--log-level=error", "--json", f"--metrics-port={free_port(HOST, brokers + 1)}"),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.serving = self.next_line()

    @staticmethod
    def _command(*words: str) -> list[str]:
        return [sys.executable, "-m", "headrace.cli", *words]

    def next_line(self) -> dict:
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def run(self, *words: str, expect: int = 0, stdin: str = "") -> str:
        ran = subprocess.run(
            self._command(*words),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "HEADRACE_BOOTSTRAP": self.bootstrap},
        )
        assert ran.returncode == expect, f"{words}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stderr if expect else ran.stdout

    def on_data(self, *words: str, expect: int = 0) -> str:
        return self.run(*words, "--data", str(self.data), expect=expect)

    def pid(self, broker: int) -> int:
        return int((self.data / f"broker-{broker}" / "pid").read_text())


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    # A path longer than a socket's name may be.
    data = tmp_path / ("long" * 30) / "data"
    started = Up(data, brokers=3)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate()


def test_a_broker_is_killed_and_comes_back(up: Up) -> None:
    up.run("topic", "create", "orders", "--partitions", "3")
    first = up.pid(1)
    assert f"pid {first}" in up.on_data("kill", "1")
    assert "broker 1 was ended by SIGKILL" in json.loads(up.process.stderr.readline())["error"]
    assert "does not run" in up.on_data("kill", "1", expect=3)
    up.run("produce", "orders", stdin="one\ntwo\n")
    assert f"{HOST}:{up.port}" in up.on_data("start", "1")
    assert up.next_line()["broker"]["pid"] == up.pid(1) != first
    assert "runs already" in up.on_data("start", "1", expect=1)
    assert sorted(up.run("consume", "orders").split()) == ["one", "two"]


def test_a_clean_stop_one_more_broker_and_the_end(up: Up) -> None:
    up.on_data("stop", "2")
    assert json.loads(up.process.stderr.readline())["error"] == "broker 2 was stopped"
    assert f"{HOST}:{up.port + 3}" in up.on_data("start", "4")
    up.on_data("start", "2")
    brokers = json.loads(up.run("cluster", "status", "--json"))["brokers"]
    assert [broker["broker"] for broker in brokers if broker["alive"]] == [1, 2, 3, 4]
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(60) == 0
    assert not list(up.data.glob("broker-*/pid")) and not (up.data / SOCKET).exists()
    assert "no `headrace up` runs" in up.on_data("start", "2", expect=1)


def test_nonsense_is_refused_and_changes_nothing(up: Up, tmp_path: Path) -> None:
    with contextlib.chdir(up.data):
        for nonsense in (b"", b"\n", b"[]\n", b'{"start": "all"}\n', b"x" * 10_000):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(SOCKET)
                connection.sendall(nonsense)
    for command in ("kill", "stop", "start"):
        assert "does not exist" in up.run(command, "1", "--data", str(tmp_path / "nowhere"), expect=3)
    assert "there is no port" in up.on_data("start", "65000", expect=1)
    assert up.process.poll() is None
