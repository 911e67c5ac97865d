"""How fast a message reaches five hundred listeners: server-sent events and WebSockets of one gateway.

    python -m bench.push [--listeners 500] [--rate 20] [--seconds 10] [--idle 10000]

One broker, one gateway, one topic with one partition. Messages of 200 bytes are stored at a steady pace; the listeners are
connections of one process that notes, for every message and listener, how long after it was due it arrived (so a stall is
charged to all that waited in it). Prints deliveries a second, p50 and p99, the gateway's CPU for each delivery; then the
memory of a gateway with many idle listeners. Writes bench/out/push.json.
"""

import argparse
import asyncio
import base64
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import uvloop
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench import proc
from headrace.cli.run.ports import free_port
from headrace.testing import Broker

OUT = Path(__file__).parent / "out"
TOPIC = "pushed"
MARK = b'"value":"'
WARMUP_SECONDS = 2.0
PAD = "x" * 170


class Gateway:
    """`headrace gateway` as a child, and what it costs."""

    def __init__(self, bootstrap: str, *arguments: str) -> None:
        self.port = free_port("127.0.0.1")
        ready, child_end = os.pipe()
        command = [sys.executable, "-m", "headrace.cli", "gateway", "--bootstrap", bootstrap, "--port", str(self.port)]
        self._process = subprocess.Popen([*command, "--ready-fd", str(child_end), *arguments], pass_fds=(child_end,))
        os.close(child_end)
        assert b'"ready"' in os.read(ready, 4096), "the gateway did not start"
        os.close(ready)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)


class Ear(asyncio.Protocol):
    """One listener: finds the due time in each message that arrives, however the stream is cut."""

    def __init__(self, opening: bytes, heard: Callable[[float], None]) -> None:
        self._opening = opening
        self._heard = heard
        self._rest = b""
        self.ready = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._opening)

    def data_received(self, data: bytes) -> None:
        if not self.ready.done():
            assert b" 200 " in data[:20] or b" 101 " in data[:20], data[:200]
            self.ready.set_result(None)
        *found, self._rest = (self._rest + data).split(MARK)
        now = time.time()
        for part in [*found[1:], self._rest] if found else []:
            if len(part) >= 20 and part[:1] != b"-":
                self._heard(now - float(part[:17]))
        # What was counted is cut away; a mark that is cut by the end of the data stays.
        if found:
            self._rest = self._rest[20:] if len(self._rest) >= 20 else MARK + self._rest
        self._rest = self._rest[-len(MARK) - 20 :]


def opening(kind: str, port: int) -> bytes:
    lines = [f"GET /api/v1/topics/{TOPIC}/events HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    if kind == "websocket":
        key = base64.b64encode(os.urandom(16)).decode()
        lines += ["Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def open_ears(kind: str, port: int, count: int, heard: Callable[[float], None]) -> list[asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    transports: list[asyncio.BaseTransport] = []
    for start in range(0, count, 100):
        opened = [
            await loop.create_connection(lambda: Ear(opening(kind, port), heard), "127.0.0.1", port)
            for _ in range(start, min(count, start + 100))
        ]
        async with asyncio.timeout(60):
            await asyncio.gather(*(ear.ready for _, ear in opened))
        transports += [transport for transport, _ in opened]
    return transports


async def fan_out(kind: str, gateway: Gateway, bootstrap: str, asked: argparse.Namespace) -> dict[str, float]:
    delays: list[float] = []
    counting = False

    def heard(delay: float) -> None:
        if counting:
            delays.append(delay)

    ears = await open_ears(kind, gateway.port, asked.listeners, heard)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
    await paced(producer, asked.rate, WARMUP_SECONDS)
    await asyncio.sleep(1)
    counting, cpu, began = True, gateway.cpu_seconds(), time.monotonic()
    sent = await paced(producer, asked.rate, asked.seconds)
    await until(lambda: len(delays) >= sent * asked.listeners, 60)
    took = time.monotonic() - began
    cpu = gateway.cpu_seconds() - cpu
    for ear in ears:
        ear.close()
    hundredths = statistics.quantiles(delays, n=100)
    return {
        "listeners": asked.listeners,
        "messages": sent,
        "deliveries": len(delays),
        "expected": sent * asked.listeners,
        "deliveries_per_s": len(delays) / took,
        "p50_ms": hundredths[49] * 1000,
        "p99_ms": hundredths[98] * 1000,
        "gateway_cpu_us_per_delivery": cpu / len(delays) * 1e6,
    }


async def paced(producer: Producer, rate: float, seconds: float) -> int:
    """Each message says when it was due."""
    began, count = time.time() + 0.05, int(rate * seconds)
    for number in range(count):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.time()))
        producer.produce(TOPIC, f"{due:017.6f} {PAD}")
        producer.poll(0)
    producer.flush(30)
    return count


async def until(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def idle(gateway: Gateway, count: int) -> dict[str, float]:
    """What listeners cost that hear nothing."""
    before = gateway.rss_mb()
    ears = await open_ears("sse", gateway.port, count, lambda _: None)
    await asyncio.sleep(2)
    cpu = gateway.cpu_seconds()
    await asyncio.sleep(20)
    cpu = gateway.cpu_seconds() - cpu
    grown = gateway.rss_mb() - before
    for ear in ears:
        ear.close()
    return {"listeners": count, "kb_each": grown * 1000 / count, "mb": grown, "cpu_share_while_idle": cpu / 20}


async def measure(broker: Broker, asked: argparse.Namespace) -> dict[str, dict[str, float]]:
    figures: dict[str, dict[str, float]] = {}
    plays: dict[str, Callable[[Gateway], Awaitable[dict[str, float]]]] = {
        "sse": lambda gateway: fan_out("sse", gateway, broker.bootstrap, asked),
        "websocket": lambda gateway: fan_out("websocket", gateway, broker.bootstrap, asked),
        "idle": lambda gateway: idle(gateway, asked.idle),
    }
    for name, play in plays.items():
        gateway = Gateway(broker.bootstrap)
        try:
            figures[name] = await play(gateway)
        finally:
            gateway.stop()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listeners", type=int, default=500)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--idle", type=int, default=10_000)
    asked = parser.parse_args()
    others = proc.OtherWork()
    with Broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
        figures = _run(broker, asked)
    figures["machine"] = {"others_cpu_share": others.share()}
    OUT.mkdir(exist_ok=True)
    (OUT / "push.json").write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures, indent=2))


def _run(broker: Broker, asked: argparse.Namespace) -> dict[str, dict[str, float]]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measure(broker, asked))


if __name__ == "__main__":
    main()
