"""Makes golden data of what lies beyond a broker's directory: a folder of backups, and the records that gateways keep.

    python -m tests.golden_data.make_beyond              of the working tree
    python -m tests.golden_data.make_beyond 1626cec      of a commit or tag

Beside this file: backup-VERSION-COMMIT.tar.xz, a folder with two backups and the JSON of what clients saw at each;
gateway-VERSION-COMMIT.json, the records of `_headrace_webhooks` and `_headrace_idempotency` with what the gateway answered.
Make both for every release and change none: `test_golden_beyond` reads all.
"""

import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confluent_kafka.admin import AdminClient, NewTopic

from cluster_view import records_of, view_of
from golden_data.fill import Filler
from golden_data.make import broker_of, keep, release, started
from headrace.cli.run.ports import free_port
from headrace.cli.up.gateway_child import GatewayChild

SECONDS = 60
TOPICS = ("_headrace_webhooks", "_headrace_idempotency")
KEY, BODY = "order-1", b'{"messages": [{"key": "a", "value": "one"}, {"key": "b", "value": "two"}]}'


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        of, sources = release(sys.argv[1:], folder)
        broker = broker_of(sources, folder / "data")
        try:
            bootstrap = started(broker)
            keep(f"backup-{of}.tar.xz", backups(folder / "backups", bootstrap, sources))
            keep(f"gateway-{of}.json", json.dumps(gateway_records(folder, broker, sources), indent=1).encode())
        finally:
            broker.kill()


def backups(folder: Path, bootstrap: str, sources: Path) -> bytes:
    filler = Filler(bootstrap)
    filler.fill()
    seen = [_backed_up(folder, bootstrap, sources)]
    filler.more(b"after the first backup")
    seen.append(_backed_up(folder, bootstrap, sources))
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        (folder.parent / "seen.json").write_text(json.dumps(seen))
        tar.add(folder.parent / "seen.json", "seen.json")
        tar.add(folder, "backups")
    return lzma.compress(whole.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def _backed_up(folder: Path, bootstrap: str, sources: Path) -> dict[str, Any]:
    """What clients saw when it was made, and its id."""
    command = [
        sys.executable,
        "-m",
        "headrace.cli",
        "backup",
        "create",
        str(folder),
        "--bootstrap",
        bootstrap,
        "--json",
    ]
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    made = json.loads(subprocess.check_output(command, env=environment, timeout=SECONDS))
    return {"id": made["backup"], "view": view_of(bootstrap)}


def gateway_records(folder: Path, broker: Any, sources: Path) -> dict[str, Any]:
    options = ["--set", "webhook_networks=127.0.0.0/8"]
    gateway = GatewayOf(sources, broker.options, folder, options)
    gateway.start()
    try:
        gateway.until_ready(SECONDS)
        return _answered(gateway.url, gateway.bootstrap)
    finally:
        gateway.kill()


class GatewayOf(GatewayChild):
    """Run from these sources."""

    def __init__(self, sources: Path, broker: Any, folder: Path, words: list[str]) -> None:
        super().__init__([broker], "127.0.0.1", free_port("127.0.0.1"), folder, as_json=False)
        self._sources, self._more = sources, words

    def command_with(self, ready_fd: int, parent_fd: int) -> list[str]:
        return ["env", f"PYTHONPATH={self._sources}", *super().command_with(ready_fd, parent_fd), *self._more]


def _answered(url: str, bootstrap: str) -> dict[str, Any]:
    topic = "orders"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 2)])[topic].result(SECONDS)
    kept, gone = (_post(f"{url}/api/v1/webhooks", _webhook(topic, port)) for port in (9, 10))
    _post(f"{url}/api/v1/webhooks/{kept['id']}/pause", {})
    _post(f"{url}/api/v1/webhooks/{kept['id']}/redrive", {})
    _asked(urllib.request.Request(f"{url}/api/v1/webhooks/{gone['id']}", method="DELETE"))
    headers = {"content-type": "application/json", "Idempotency-Key": KEY}
    stored = _asked(urllib.request.Request(f"{url}/api/v1/topics/{topic}/messages", BODY, headers))
    partitions = admin.list_topics(timeout=SECONDS).topics
    return {
        "records": {
            name: [each for number in partitions[name].partitions for each in records_of(bootstrap, name, number)]
            for name in TOPICS
        },
        "webhook": {**_asked(urllib.request.Request(f"{url}/api/v1/webhooks/{kept['id']}")), "secret": kept["secret"]},
        "post": {"topic": topic, "key": KEY, "body": BODY.decode(), "reply": stored},
    }


def _webhook(topic: str, port: int) -> dict[str, Any]:
    return {"topic": topic, "callback_url": f"http://127.0.0.1:{port}/", "retry": {"tries_max": 3}, "messages_max": 5}


def _post(url: str, body: Any) -> Any:
    return _asked(urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"}))


def _asked(request: urllib.request.Request) -> Any:
    with urllib.request.urlopen(request, timeout=SECONDS) as reply:
        return json.loads(reply.read() or b"null")


if __name__ == "__main__":
    main()
