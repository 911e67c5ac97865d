"""Kafka Connect in distributed mode: a file into a topic, exactly once, and the topic into another file."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from clients.build import java_classpath
from ecosystem.feed import FileFeed
from ecosystem.judge import at_least_once, exactly_once
from ecosystem.outcome import FileOutcome
from ecosystem.program import JVM, Program
from headrace.cli.ports import free_port

CONNECT = Path(__file__).resolve().parent / "connect"
WORKER = "org.apache.kafka.connect.cli.ConnectDistributed"
GROUP = "connect"
START_SECONDS = 120.0

pytestmark = pytest.mark.long


class Worker(Program):
    """A Connect worker, asked by its REST API."""

    def __init__(self, classpath: str, bootstrap: str, folder: Path) -> None:
        self._url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            "listeners": self._url,
            "exactly.once.source.support": "enabled",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "config.storage.topic": "connect-configs",
            "offset.storage.topic": "connect-offsets",
            "status.storage.topic": "connect-status",
            "plugin.discovery": "service_load",
        }
        worker = folder / "worker.properties"
        worker.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        super().__init__([*JVM, "-cp", classpath, WORKER, worker], folder / "connect.log")

    def put(self, connector: str, **config: str) -> None:
        """Makes a connector; a worker that has just started takes none until it has joined its group."""
        body = json.dumps({name.replace("_", "."): value for name, value in config.items()}).encode()
        deadline = time.monotonic() + START_SECONDS
        while True:
            self.well()
            try:
                self._ask("PUT", f"/connectors/{connector}/config", body)
                return
            except urllib.error.URLError as error:
                assert time.monotonic() < deadline, f"{connector}: {error}: {self.said}"
                time.sleep(0.5)

    def failed(self, connector: str) -> list[str]:
        status = self._ask("GET", f"/connectors/{connector}/status")
        return [each.get("trace", "") for each in (status["connector"], *status["tasks"]) if each["state"] == "FAILED"]

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(self._url + path, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)


def test_a_file_through_a_topic_into_a_file(three, built) -> None:
    taken, given = three.folder / "taken", three.folder / "given"
    three.create("lines")
    written_out = FileOutcome(given)
    with (
        FileFeed(taken) as feed,
        Worker(built(java_classpath, CONNECT), three.bootstrap, three.folder) as worker,
        three.outcome("lines") as lines,
    ):
        worker.put(
            "source",
            connector_class="org.apache.kafka.connect.file.FileStreamSourceConnector",
            file=str(taken),
            topic="lines",
            exactly_once_support="required",
        )
        worker.put(
            "sink",
            connector_class="org.apache.kafka.connect.file.FileStreamSinkConnector",
            file=str(given),
            topics="lines",
        )
        three.kill_coordinator_at_work(GROUP, written_out, worker.well)
        feed.stop()
        lines.until(len(feed.sent), worker.well)
        written_out.until(len(feed.sent), worker.well)
        assert worker.failed("source") + worker.failed("sink") == []
        assert exactly_once(feed.sent, lines.read()) == []
        assert at_least_once(feed.sent, written_out.read()) == []
