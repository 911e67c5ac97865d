"""`headrace up` with its gateway: one command, and the queue is there over HTTP."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.cli.run.ports import free_port

HOST = "127.0.0.1"
SECONDS = 60


class Up:
    def __init__(self, data: Path, *words: str) -> None:
        command = [sys.executable, "-m", "headrace.cli", "up", "--json", "--port", str(free_port(HOST))]
        self.process = subprocess.Popen(
            [*command, "--metrics-port", str(free_port(HOST)), "--data", str(data), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def serving(self) -> Any:
        return self._news()

    def gateway_serving(self) -> Any:
        """Brokers are announced first; the gateway takes a moment longer."""
        self._news()
        return self._news()

    def _news(self) -> Any:
        assert self.process.stdout and self.process.stderr
        return json.loads(self.process.stdout.readline() or self.process.stderr.read())

    def stopped(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=SECONDS)
        return self.process.returncode


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def start(*words: str) -> Up:
        started.append(Up(tmp_path / "data", *words))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}/cmdline").exists()


def test_the_gateway_is_part_of_up(up: Callable[..., Up], tmp_path: Path) -> None:
    port = free_port(HOST)
    running = up("--http-port", str(port))
    gateway = running.gateway_serving()
    assert gateway["url"] == f"http://{HOST}:{port}"
    assert int((tmp_path / "data" / "gateway.pid").read_text()) == gateway["pid"]
    stored = httpx.post(f"{gateway['url']}/topics/demo/messages", json={"value": "hello"}, timeout=SECONDS)
    assert stored.json()["offset"] == 0, stored.text
    assert running.stopped() == 0
    assert is_gone(gateway["pid"])
    assert not (tmp_path / "data" / "gateway.pid").exists()


def test_a_gateway_that_dies_takes_nothing_with_it(up: Callable[..., Up]) -> None:
    running = up("--http-port", str(free_port(HOST)))
    serving = running.serving()
    os.kill(serving["gateway"]["pid"], signal.SIGKILL)
    assert running.process.stderr
    while "the gateway was ended by SIGKILL" not in (line := running.process.stderr.readline()):
        assert line, "`up` has ended"
    assert not is_gone(serving["brokers"][0]["pid"])
    assert running.stopped() == 0


def test_a_port_that_was_asked_for_must_be_free(up: Callable[..., Up]) -> None:
    with socket.create_server((HOST, 0)) as taken:
        running = up("--http-port", str(taken.getsockname()[1]))
        _, said = running.process.communicate(timeout=SECONDS)
    assert running.process.returncode == 1
    assert "--http-port" in said


def test_brokers_alone(up: Callable[..., Up]) -> None:
    assert up("--no-gateway").serving()["gateway"] is None
