"""A worker of Kafka Connect in distributed mode, with its connectors."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ecosystem.program import JVM, Program
from eventually import until
from headrace.cli.run.ports import free_port

CONNECT = Path(__file__).resolve().parent / "connect"
MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
GROUP = "connect"
START_SECONDS = 120.0


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
        super().__init__([*JVM, "-cp", classpath, MAIN, worker], folder / "connect.log")

    def put(self, connector: str, **config: str) -> None:
        """Makes a connector; a worker that has just started takes none until it has joined its group."""
        body = json.dumps({name.replace("_", "."): value for name, value in config.items()}).encode()

        def refusal() -> str:
            self.well()
            try:
                self._ask("PUT", f"/connectors/{connector}/config", body)
            except urllib.error.URLError as error:
                return str(error)
            return ""

        until(refusal, lambda said: not said, START_SECONDS, lambda: f"{connector}: {self.said}")

    def failed(self, connector: str) -> list[str]:
        status = self._ask("GET", f"/connectors/{connector}/status")
        return [each.get("trace", "") for each in (status["connector"], *status["tasks"]) if each["state"] == "FAILED"]

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(self._url + path, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)
