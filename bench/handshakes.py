"""TLS handshakes a second, and how long a client that is at work waits meanwhile: the worst pause of the broker's loop.

    python -m bench.handshakes [--handshakes 1000] [--at-once 50] [--rounds 5] [--ours-only]

A process of its own opens so many connections, each with a whole handshake and a first answer, and closes them. Another
client asks ApiVersions on one plain connection all the while, the next one as soon as the last is answered; its longest wait
is the pause, and beside it stands the longest without handshakes. Prints medians and writes bench/out/handshakes.json.
"""

import argparse
import asyncio
import json
import multiprocessing
import socket
import ssl
import struct
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench import kafka, proc
from bench.broker import Peer, Running, running
from bench.tls_peers import HOST, Certificates, headrace_with_tls, kafka_with_tls, made, tls_address

OUT = Path(__file__).parent / "out"
QUIET_SECONDS = 2.0
DEADLINE_S = 120.0
# ApiVersions in version 0: a request without a body.
_ASK = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_SIZE = struct.Struct(">i")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--handshakes", type=int, default=1_000)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ours-only", action="store_true", help="Headrace alone")
    parser.add_argument("--port", type=int, default=19592)
    options = parser.parse_args()
    certificates, others = made(OUT / "certificates"), proc.OtherWork()
    peers: list[Peer] = [headrace_with_tls(certificates, options.port)]
    if not options.ours_only and not kafka.missing():
        peers.append(kafka_with_tls(certificates, options.port))
    result: dict[str, list[dict[str, float]]] = {}
    for peer in peers:
        with running(peer, OUT / "data" / "handshakes", port=options.port) as broker:
            # The first is for a just-in-time compiler.
            found = [one_round(broker, certificates, options) for _ in range(options.rounds + 1)][1:]
        result[peer.name] = found
        print(f"{peer.name}: {_line({what: median(each[what] for each in found) for what in found[0]})}", flush=True)
    share = others.share()
    (OUT / "handshakes.json").write_text(json.dumps({"rounds": result, "others_cpu_share": share}, indent=1))
    print(f"other processes took {share:.0%} of the CPU")


def one_round(broker: Running, certificates: Certificates, options: argparse.Namespace) -> dict[str, float]:
    plain = int(broker.bootstrap.rpartition(":")[2])
    quiet = longest_wait(plain, lambda began: time.monotonic() < began + QUIET_SECONDS)
    cpu_before = proc.running_seconds(broker.pids)
    port = int(tls_address(broker).rpartition(":")[2])
    work = (port, certificates.ca, options.handshakes, options.at_once)
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_shake_all, args=(*work, sending), daemon=True)
    process.start()
    assert receiving.poll(DEADLINE_S), "the process for handshakes does not start"
    receiving.recv()  # it begins now: its own start is nobody's pause
    busy = longest_wait(plain, lambda began: not receiving.poll() and time.monotonic() < began + DEADLINE_S)
    seconds = float(receiving.recv())
    process.join()
    cpu = proc.running_seconds(broker.pids) - cpu_before
    found = {
        "handshakes_per_s": options.handshakes / seconds,
        "worst_pause_ms": busy * 1e3,
        "worst_without_ms": quiet * 1e3,
        "cpu_ms_each": cpu / options.handshakes * 1e3,
    }
    print(f"{broker.peer.name}: {_line(found)}", file=sys.stderr, flush=True)
    return found


def longest_wait(port: int, goes_on: Any) -> float:
    """The longest time to an answer, in seconds, of questions asked one after the other for as long as it `goes_on`."""
    longest, began = 0.0, time.monotonic()
    with socket.create_connection((HOST, port), timeout=DEADLINE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reading = connection.makefile("rb")
        while goes_on(began):
            asked = time.perf_counter()
            connection.sendall(_ASK)
            (size,) = _SIZE.unpack(reading.read(_SIZE.size))
            reading.read(size)
            longest = max(longest, time.perf_counter() - asked)
    return longest


def _shake_all(port: int, ca: str, count: int, at_once: int, told: Any) -> None:
    """In a process of its own: says when it begins, and how many seconds it took."""
    # One context for each: a session that is resumed would be no whole handshake.
    context = ssl.create_default_context(cafile=ca)
    context.options |= ssl.OP_NO_TICKET

    async def one(places: asyncio.Semaphore) -> None:
        async with places:
            reader, writer = await asyncio.open_connection(HOST, port, ssl=context)
            writer.write(_ASK)
            await reader.readexactly(_SIZE.size)
            writer.transport.abort()

    async def all_of_them() -> float:
        places = asyncio.Semaphore(at_once)
        told.send(None)
        began = time.monotonic()
        await asyncio.gather(*(one(places) for _ in range(count)))
        return time.monotonic() - began

    told.send(asyncio.run(all_of_them()))


def _line(figures: dict[str, float]) -> str:
    return "  ".join(f"{what} {value:.4g}" for what, value in figures.items())


if __name__ == "__main__":
    main()
