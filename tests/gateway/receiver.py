"""A webhook receiver as a process of its own, which can be told to fail or to hang, and can be killed.

What it accepts is in its ledger, a file of JSON lines, before it answers; so the ledger is what a real receiver would
have done. Run as a script: PORT LEDGER.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from headrace.cli.ports import free_port

SECONDS = 60


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
        self.process = subprocess.Popen([sys.executable, __file__, str(self.port), str(self.ledger)])
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                assert time.monotonic() < deadline, "the receiver did not start in time"
                time.sleep(0.05)

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
        deadline = time.monotonic() + seconds
        while not enough(messages := self.accepted()):
            assert time.monotonic() < deadline, f"not in {seconds} s; {len(messages)} messages: {messages[-3:]}"
            time.sleep(0.1)
        return messages


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mode = "accept"
    ledger: int
    lock = threading.Lock()

    def do_PUT(self) -> None:
        type(self).mode = self._body().decode()
        self._reply(200)

    def do_POST(self) -> None:
        body = self._body().decode()
        mode = self.mode
        if mode == "hang":
            self._note(body, 0)
            time.sleep(3600)
        status = 200
        if mode == "fail" or (mode.startswith("poison:") and mode.removeprefix("poison:") in body):
            status = 500
        if mode == "redirect":
            status = 302
        self._note(body, status)
        self._reply(status)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _note(self, body: str, status: int) -> None:
        seen = {"path": self.path, "headers": dict(self.headers), "body": body, "status": status}
        with self.lock:
            os.write(self.ledger, (json.dumps(seen) + "\n").encode())

    def _reply(self, status: int) -> None:
        words = b"" if status == 200 else b"told to <fail>\n"
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    _Handler.ledger = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    _Server(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
