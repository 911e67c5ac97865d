"""`python -m bench.rest`: REST beside a naive gateway (bench/naive_gateway.py), same broker, same client, turn by turn.

The client is native (native/http.c) and closed-loop. Both gateways are one process on uvicorn, and both wait until a message
is on disk. Prints a table and writes bench/out/rest.json.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench import machine, native, proc
from headrace.cli.run.ports import free_port
from headrace.testing import Broker

OUT = Path(__file__).parent / "out"
HOST = "127.0.0.1"
BATCH, VALUE_BYTES = 1000, 1024
# As many as a GET brings that does not say how many.
PAGE = 100
READ_RECORDS = 50_000
START_SECONDS = 60
# What is posted soon goes again. Memory that a virtual machine has not used before costs 4 ms a MB at its first touch: with
# logs that only grow, the row of batches would measure that.
KEPT = {"segment.bytes": str(32 << 20), "retention.bytes": str(64 << 20)}
LOOK_MS = 500


class Row(NamedTuple):
    """`mb_per_reply` are megabytes of values in one reply or request; 0 where requests are counted."""

    name: str
    ours: str
    naive: str
    options: dict[str, object]
    mb_per_reply: float = 0.0

    def figure(self, measured: dict[str, Any]) -> float:
        per_second: float = measured["per_second"]
        return per_second * (self.mb_per_reply or 1.0)


def rows(one: Path, many: Path) -> list[Row]:
    batch_mb = BATCH * VALUE_BYTES / 1e6
    return [
        Row("POST one, requests/s", "/topics/post/messages", "/one/post", {"body": one, "connections": 64}),
        Row(
            "POST 1,000 x 1 KB, MB/s",
            "/topics/post/messages",
            "/many/post",
            {"body": many, "connections": 8},
            batch_mb,
        ),
        _read_row(BATCH),
        _read_row(PAGE),
    ]


def _read_row(count: int) -> Row:
    query = f"partition=0&offset=%d&limit={count}"
    options: dict[str, object] = {"step": count, "steps": READ_RECORDS // count, "connections": 8}
    name, mb = f"GET {count:,} x 1 KB, MB/s", count * VALUE_BYTES / 1e6
    return Row(name, f"/topics/read/messages?{query}", f"/read/read?{query}", options, mb)


def main() -> int:
    asked = _arguments()
    clients = native.built(OUT / "native")
    with Broker(log_retention_check_interval_ms=LOOK_MS) as broker:
        _prepare(broker.bootstrap)
        gateways = {"ours": _ours(broker.bootstrap), "naive": _naive(broker.bootstrap)}
        measured = [
            _measure(row, gateways, lambda options: clients.run("http", options, {}), asked) for row in rows(*_bodies())
        ]
    for line in _table(measured):
        print(line)
    (OUT / "rest.json").write_text(json.dumps({"machine": machine.described(OUT), "rows": measured}, indent=1))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rest", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take the median of (3)")
    parser.add_argument("--seconds", type=float, default=5.0, help="measured seconds of each (5)")
    return parser.parse_args()


def _prepare(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for made in admin.create_topics([NewTopic("post", 4, 1, config=KEPT), NewTopic("read", 1, 1)]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "log_level": 0})
    for number in range(READ_RECORDS):
        producer.produce("read", b"x" * VALUE_BYTES, key=str(number), partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0, "the records to read were not stored"


def _bodies() -> tuple[Path, Path]:
    folder = OUT / "rest"
    folder.mkdir(parents=True, exist_ok=True)
    one, many = folder / "one.json", folder / "many.json"
    one.write_text(json.dumps({"value": "x" * 100}))
    many.write_text(json.dumps({"messages": [{"key": str(n), "value": "x" * VALUE_BYTES} for n in range(BATCH)]}))
    return one, many


Started = Callable[[], Any]


def _ours(bootstrap: str) -> Started:
    return lambda: _running("-m", "headrace.cli", "gateway", "--bootstrap", bootstrap, "--port")


def _naive(bootstrap: str) -> Started:
    return lambda: _running("-m", "bench.naive_gateway", bootstrap)


class Served(NamedTuple):
    port: int
    pid: int


@contextmanager
def _running(*words: str) -> Iterator[Served]:
    """One at a time: an idle one would still have its timers."""
    port = free_port(HOST)
    process = subprocess.Popen([sys.executable, *words, str(port)])
    try:
        _until_it_answers(port)
        yield Served(port, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _until_it_answers(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"http://{HOST}:{port}/openapi.json", timeout=5).close()
            return
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    raise SystemExit(f"the gateway on port {port} did not start")


def _measure(
    row: Row, gateways: dict[str, Started], run: Callable[..., Any], asked: argparse.Namespace
) -> dict[str, Any]:
    measured: dict[str, list[Measured]] = {"ours": [], "naive": []}
    for number in range(asked.rounds):
        # Who goes first alternates: the second finds the disk as the first left it.
        for side in ("ours", "naive") if number % 2 == 0 else ("naive", "ours"):
            path = row.ours if side == "ours" else row.naive
            with gateways[side]() as served:
                found = _once(row, served, {"path": path, "seconds": asked.seconds, **row.options}, run)
            measured[side].append(found)
            said = f"{found.figure:.1f}, p99 {found.p99_ms:.1f} ms, CPU {found.cpu_ms:.2f} ms each"
            print(f"{row.name}: {side} {said}", file=sys.stderr)
    return {"row": row.name, **{side: [each._asdict() for each in found] for side, found in measured.items()}}


class Measured(NamedTuple):
    """`cpu_ms` is that of the gateway's process for one request, or one megabyte: it hardly minds other work."""

    figure: float
    p99_ms: float
    cpu_ms: float


def _once(row: Row, served: Served, options: dict[str, object], run: Callable[..., Any]) -> Measured:
    before = proc.cpu_seconds([served.pid])
    measured = run({"port": served.port, **options})
    cpu = proc.cpu_seconds([served.pid]) - before
    done = measured["all_replies"] * (row.mb_per_reply or 1.0)
    return Measured(row.figure(measured), measured["p99_ms"], cpu * 1000 / max(done, 1e-9))


def _table(measured: list[dict[str, Any]]) -> Iterator[str]:
    yield "| | Headrace | p99 ms | CPU ms | naive | p99 ms | CPU ms | ratio | ratio of CPU |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for each in measured:
        ours, naive = (_median(each[side]) for side in ("ours", "naive"))
        sides = " | ".join(f"{side.figure:,.1f} | {side.p99_ms:,.1f} | {side.cpu_ms:.2f}" for side in (ours, naive))
        yield f"| {each['row']} | {sides} | {ours.figure / naive.figure:.1f} | {naive.cpu_ms / ours.cpu_ms:.1f} |"


def _median(rounds: list[dict[str, float]]) -> Measured:
    return Measured(*(statistics.median(each[name] for each in rounds) for name in Measured._fields))


if __name__ == "__main__":
    sys.exit(main())
