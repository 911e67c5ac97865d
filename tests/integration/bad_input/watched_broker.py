"""A broker whose log lines and memory a test can look at."""

import os
import re
import resource
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from eventually import until
from headrace.testing import Broker


class WatchedBroker:
    def __init__(self, broker: Broker, log: Path) -> None:
        self.broker = broker
        self.bootstrap = broker.bootstrap
        self._log = log
        self._mark = 0

    def forget_log(self) -> None:
        """Lines until now are of no interest: a port may come back under another test."""
        self._mark = self._log.stat().st_size

    def log_lines(self, *containing: str) -> list[str]:
        lines = self._log.read_bytes()[self._mark :].decode().splitlines()
        return [line for line in lines if all(text in line for text in containing)]

    def expect_one_line(self, peer: str, cause: str) -> None:
        """The log names this peer once, with the cause."""
        (line,) = until(lambda: self.log_lines(f"peer={peer}"), otherwise=f"no log line names {peer}")
        assert cause in line

    def metric(self, name: str) -> float:
        with urllib.request.urlopen(self.broker.metrics_url, timeout=60) as answer:
            text = answer.read().decode()
        (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
        return float(line.split()[1])

    @property
    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.broker.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found, status
        return int(found[1]) * 1024


@contextmanager
def watched(directory: Path, descriptors: int | None = None) -> Iterator[WatchedBroker]:
    log = directory / "broker.log"
    with log_to(log), descriptor_limit(descriptors):
        broker = Broker(log_level="warning").start()
    try:
        yield WatchedBroker(broker, log)
    finally:
        broker.close()


@contextmanager
def descriptor_limit(hard: int | None) -> Iterator[None]:
    """Children that are started meanwhile may have this many. Only root may take it back, so a fork does the lowering."""
    if hard is None:
        yield
        return
    start = subprocess.Popen

    def limited(*arguments: object, **options: object) -> subprocess.Popen:
        lower = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (hard, hard))
        return start(*arguments, **options, preexec_fn=lower)

    subprocess.Popen = limited
    try:
        yield
    finally:
        subprocess.Popen = start


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Children that are started meanwhile write their stderr there."""
    saved = os.dup(2)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(file)
