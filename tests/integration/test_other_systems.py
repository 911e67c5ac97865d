"""macOS by care: what only Linux has is taken away, and everything is imported, and a broker serves, all the same."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from eventually import collected
from headrace.cli.run.ports import free_port

TESTS = Path(__file__).parents[1]
DARWIN = [sys.executable, str(TESTS / "darwin.py")]
HOST = "127.0.0.1"
SECONDS = 60
# Windows has none of these modules.
POSIX_ONLY = {"fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty"}


def test_every_module_can_be_imported_without_what_only_linux_has() -> None:
    sys.path.append(str(TESTS / "tidy"))
    from imports import loads, modules

    names = [name for name in modules() if not name.endswith("__main__")]
    # Other people's libraries as they are: this is about ours.
    libraries = sorted({library for name in names for library in loads(name)})
    ran = subprocess.run([*DARWIN, "import", *libraries, "--", *names], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_the_python_api_loads_nothing_that_windows_lacks() -> None:
    sys.path.append(str(TESTS / "tidy"))
    from imports import loads_of_standard_library

    for module in ("headrace.api", "headrace.aio"):
        assert loads_of_standard_library(module) & POSIX_ONLY == set()


class DarwinBroker:
    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port(HOST)
        self.calls = data.with_name("calls.json")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def start(self) -> None:
        ready, told = os.pipe()
        words = [f"--port={self.port}", "--metrics-port=0", f"--data={self.data}", f"--ready-fd={told}"]
        environment = {**os.environ, "DARWIN_CALLS": str(self.calls)}
        self.process = subprocess.Popen([*DARWIN, "serve", *words], pass_fds=[told], env=environment)
        os.close(told)
        with os.fdopen(ready, "rb") as status:
            assert select.select([status], [], [], SECONDS)[0], "it did not start in time"
            assert json.loads(status.readline())["status"] == "ready"
        # As `headrace up` writes down.
        (self.data / "broker-1" / "pid").write_text(str(self.process.pid))

    def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DarwinBroker]:
    # Whose it is shows in the command line.
    made = DarwinBroker(tmp_path / "headrace")
    made.start()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.end(signal.SIGKILL)


def store(broker: DarwinBroker, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    for value in values:
        producer.produce("orders", value)
    assert producer.flush(SECONDS) == 0


def read(broker: DarwinBroker, count: int) -> list[str]:
    config = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    consumer.subscribe(["orders"])

    def taken() -> list[str]:
        message: Any = consumer.poll(1)
        if message is None or message.error() is not None:
            return []
        consumer.commit(message, asynchronous=False)
        return [message.value().decode()]

    values = collected(taken, lambda found: len(found) >= count, SECONDS)
    consumer.close()
    return values


def test_a_broker_serves_there_and_finds_its_data_after_a_kill(broker: DarwinBroker) -> None:
    # Some large enough to leave by sendfile.
    values = [f"{number} {'x' * 20_000}" for number in range(200)]
    store(broker, values)
    broker.end(signal.SIGKILL)
    broker.start()
    assert read(broker, len(values)) == values
    assert broker.end(signal.SIGTERM) == 0
    calls = json.loads(broker.calls.read_text())
    assert calls["F_FULLFSYNC"] > 0 and calls["sysctl"] > 0


def test_stop_finds_a_broker_there_and_kill_none(broker: DarwinBroker) -> None:
    assert broker.process is not None
    with told(broker, "stop") as stopping:
        # A process that nobody waited for still has its number.
        assert broker.process.wait(SECONDS) == 0
        assert stopping.wait(SECONDS) == 0
    with told(broker, "kill") as missing:
        _, err = missing.communicate(timeout=SECONDS)
    assert missing.returncode == 3 and "does not run" in err


def told(broker: DarwinBroker, word: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([*DARWIN, word, "1", "--data", str(broker.data)], stderr=subprocess.PIPE, text=True)
