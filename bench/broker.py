"""A broker (or a few) as the bench sees it: started, timed until its first answer, measured, stopped.

Invariant: what was started here is stopped here, by pid, however the measurement ended; a killed bench takes its
brokers along.
Knows nothing of what a broker is made of: `kafka` and `headrace` say which commands to run.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench import proc

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 30.0
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)  # loaded here because the child may not load anything between fork and exec


class Peer(Protocol):
    """One of the two contestants."""

    name: str

    def version(self) -> str: ...

    def prepare(self, data: Path, brokers: int, port: int) -> list[list[str]]:
        """Lays out a fresh data directory and returns the commands that run the brokers in the foreground."""
        ...

    def broker_pids(self, data: Path, launched: list[int]) -> list[int]:
        """The brokers themselves, which a launched command may only look after."""
        ...


@dataclass
class Running:
    """Brokers that answer."""

    peer: Peer
    bootstrap: str
    data: Path
    pids: list[int]
    launched: list[int]
    start_s: float

    def cpu_seconds(self) -> float:
        return proc.cpu_seconds(self.pids)

    def rss_mb(self) -> float:
        return proc.rss_mb(self.pids)

    def rss_with_launcher_mb(self) -> float:
        return proc.rss_mb(self.launched)

    def peak_rss_mb(self) -> float:
        return proc.peak_rss_mb(self.pids)


@contextlib.contextmanager
def running(peer: Peer, data: Path, brokers: int = 1, port: int = 19092) -> Iterator[Running]:
    """Fresh brokers on port, port + 1, …; their data directory is removed afterwards."""
    _refuse_taken_ports(port, brokers)
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    commands = peer.prepare(data, brokers, port)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        began = time.monotonic()
        for number, command in enumerate(commands, 1):
            processes.append(_spawn(command, data / f"output-{number}.log"))
        for number in range(brokers):
            _until_answers(port + number, brokers, processes, data)
        bootstrap = ",".join(f"127.0.0.1:{port + number}" for number in range(brokers))
        start_s = time.monotonic() - began
        launched = [process.pid for process in processes]
        yield Running(peer, bootstrap, data, peer.broker_pids(data, launched), launched, start_s)
    finally:
        _stop(processes)
        shutil.rmtree(data, ignore_errors=True)


def _spawn(command: list[str], output: Path) -> subprocess.Popen[bytes]:
    with output.open("wb") as stream:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            for pid in reversed(proc.tree(process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()


def _refuse_taken_ports(port: int, brokers: int) -> None:
    for number in range(brokers):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port + number)) == 0:
                raise SystemExit(
                    f"port {port + number} is in use: stop what listens there or choose another with --port"
                )


def _until_answers(port: int, brokers: int, processes: list[subprocess.Popen[bytes]], data: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < deadline:
        if any(process.poll() is not None for process in processes):
            break
        if _brokers_known_to(port) == brokers:
            return
        time.sleep(0.005)
    tails = "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(data.glob("output-*.log")))
    raise SystemExit(f"no answer on port {port}; the broker's last words:\n{tails}")


def _brokers_known_to(port: int) -> int:
    """How many brokers a Metadata (v1, no topics) reply lists; 0 when there is none."""
    client = b"bench"
    request = struct.pack(">hhih", 3, 1, 1, len(client)) + client + struct.pack(">i", 0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            reply = connection.makefile("rb").read(12)
    except OSError:
        return 0
    return int(struct.unpack(">iii", reply)[2]) if len(reply) == 12 else 0
