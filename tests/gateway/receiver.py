"""A webhook receiver as a process of its own (`receiver_process.py`), which can be told to fail or to hang, and can be
killed. The ledger of what it accepted stays."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx

from eventually import until
from headrace.cli.run.ports import free_port

SECONDS = 60
PROGRAM = Path(__file__).parent / "receiver_process.py"


class Receiver:
    """The parent's side. Port and ledger stay the same over kill and start."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port("127.0.0.1")
        self.ledger = directory / f"ledger-{self.port}.jsonl"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def start(self) -> "Receiver":
        self.process = subprocess.Popen([sys.executable, str(PROGRAM), str(self.port), str(self.ledger)])
        until(self._is_listening, otherwise="the receiver did not start")
        return self

    def _is_listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def tell(self, mode: str) -> None:
        """accept, fail, redirect, hang; `poison:TEXT` fails what contains the text."""
        httpx.put(
            f"http://127.0.0.1:{self.port}/mode", content=mode, timeout=SECONDS, trust_env=False
        ).raise_for_status()

    def kill(self) -> None:
        assert self.process is not None, "not started"
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)

    def deliveries(self) -> list[dict]:
        """Every POST that was seen: headers, body, and whether it was accepted."""
        if not self.ledger.exists():
            return []
        lines = self.ledger.read_text().split("\n")
        return [json.loads(line) for line in lines[:-1]]

    def accepted(self) -> list[dict]:
        """The messages of accepted deliveries, in the order of their arrival, repeats included."""
        return [
            message
            for delivery in self.deliveries()
            if delivery["status"] == 200
            for message in json.loads(delivery["body"])["messages"]
        ]

    def until(self, enough, seconds: float = SECONDS) -> list[dict]:
        """The accepted messages, once `enough(messages)`."""
        return until(self.accepted, enough, seconds)
