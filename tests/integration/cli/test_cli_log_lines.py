"""What a broker logs, read from its log file: JSON with fields, rotated, and nothing for requests that go well."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from eventually import until
from headrace.cli.run.log_file import open_log_file
from headrace.cli.run.ports import free_port
from headrace.cli.up.child import ServeChild
from headrace.testing import Broker

HOST = "127.0.0.1"
REQUESTS = 300


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(log_level="debug", data=tmp_path / "data")
    made.options = replace(made.options, log_format="json", log_file=str(tmp_path / "broker.log"))
    made._host = ServeChild(made.options)
    with made:
        yield made


def lines_of(broker: Broker) -> list[dict[str, Any]]:
    """All of them: the broker is stopped first."""
    broker.stop()
    return [json.loads(line) for line in Path(broker.options.log_file).read_text().splitlines()]


def test_requests_that_go_well_are_not_logged_at_any_level(broker: Broker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "batch.num.messages": 1})
    for number in range(REQUESTS):
        producer.produce("orders", str(number))
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    read = 0
    while read < REQUESTS:
        message = consumer.poll(60)
        assert message is not None
        read += message.error() is None
        consumer.commit(message, asynchronous=False)
    consumer.close()
    ours = [line for line in lines_of(broker) if line["logger"].startswith("headrace")]
    assert len(ours) < 30, [line["message"] for line in ours]


def test_a_line_about_a_client_names_it_and_what_it_asked_for(broker: Broker) -> None:
    with socket.create_connection(("127.0.0.1", broker.port), 10) as peer:
        address = peer.getsockname()
        # ApiVersions, then a Metadata request with half a body.
        peer.sendall(b"\x00\x00\x00\x0a\x00\x03\x00\x01\x00\x00\x00\x07\xff\xff")
        assert peer.recv(10) == b""
    (line,) = [line for line in lines_of(broker) if "peer" in line]
    assert line["broker"] == 1
    assert line["peer"] == f"127.0.0.1:{address[1]}"
    assert line["request"] == "Metadata"
    assert line["cause"] and line["cause"] in line["message"]


def test_a_log_file_is_rotated(tmp_path: Path) -> None:
    log = open_log_file(str(tmp_path / "logs" / "a.log"), 100, 2)
    for number in range(20):
        log.handle(logging.makeLogRecord({"msg": f"line {number:02} {'.' * 30}"}))
    log.close()
    files = {path.name: path.read_text().splitlines() for path in (tmp_path / "logs").iterdir()}
    assert set(files) == {"a.log", "a.log.1", "a.log.2"}
    assert files["a.log"][-1].startswith("line 19")


def test_a_log_file_that_logrotate_moved_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    log = open_log_file(str(path), 0)
    log.handle(logging.makeLogRecord({"msg": "before"}))
    log._lines.join()
    path.rename(tmp_path / "a.log.1")
    log.handle(logging.makeLogRecord({"msg": "after"}))
    log.close()
    assert (tmp_path / "a.log.1").read_text() == "before\n"
    assert path.read_text() == "after\n"


@contextmanager
def logging_process(*words: str, **how: Any) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "headrace.cli", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[bytes]") -> tuple[list[dict[str, Any]], bytes]:
    """Asked to stop, so that all it wrote can be read."""
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    return [json.loads(line) for line in out.splitlines()], err


def test_serve_logs_to_stdout_by_choice(tmp_path: Path) -> None:
    read, write = os.pipe()
    words = ["--data", str(tmp_path), "--port", "0", "--metrics-port", "0", "--ready-fd", str(write)]
    with logging_process("serve", *words, "--log-format", "json", "--log-file", "-", pass_fds=(write,)) as process:
        os.close(write)
        with os.fdopen(read, "rb") as status:
            assert json.loads(status.readline())["status"] == "ready"
        lines, err = ended(process)
    assert err == b""
    assert {"broker", "level", "logger", "message", "time"} <= lines[-1].keys()
    assert any("stopping on SIGTERM" in line["message"] for line in lines)


def test_up_logs_to_a_file_for_each_process(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    with logging_process(*up_words(tmp_path, "--log-dir", str(logs), "--brokers", "2")) as process:
        assert [json.loads(process.stdout.readline())["status"] for _ in range(2)] == ["serving", "gateway"]
        until(
            lambda: sorted(path.name for path in logs.iterdir()), ["broker-1.log", "broker-2.log", "gateway.log"].__eq__
        )
        lines, err = ended(process)
    assert (lines, err) == ([], b"")
    for number in (1, 2):
        written = [json.loads(line) for line in (logs / f"broker-{number}.log").read_text().splitlines()]
        assert {line["broker"] for line in written} == {number}


def test_up_logs_to_stdout_by_choice(tmp_path: Path) -> None:
    with logging_process(*up_words(tmp_path, "--log-dir", "-", "--no-gateway")) as process:
        while json.loads(process.stdout.readline()).get("status") != "serving":
            continue
        lines, err = ended(process)
    assert err == b""
    assert any(line.get("broker") == 1 and "stopping on SIGTERM" in line.get("message", "") for line in lines)


def up_words(folder: Path, *words: str) -> list[str]:
    ports = [
        "--port",
        str(free_port(HOST)),
        "--http-port",
        str(free_port(HOST)),
        "--metrics-port",
        str(free_port(HOST)),
    ]
    return ["up", "--data", str(folder / "data"), "--json", "--log-level", "info", *ports, *words]
