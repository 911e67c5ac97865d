"""`headrace gateway` as a child process of a test."""

import os
import select
import signal
import subprocess
import sys
from typing import Any

import httpx

from headrace.cli.run.ports import free_port

SECONDS = 60


class GatewayProcess:
    """`headrace gateway` as a child; its port stays the same over kill and start."""

    def __init__(self, bootstrap: str, *arguments: str, program: tuple[str, ...] = ("-m", "headrace.cli")) -> None:
        self.bootstrap = bootstrap
        self.program = program
        self.port = free_port("127.0.0.1")
        self.arguments = arguments
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None, "not started"
        return self.process.pid

    def start(self) -> "GatewayProcess":
        ready, child_end = os.pipe()
        command = [sys.executable, *self.program, "gateway", "--bootstrap", self.bootstrap]
        command += ["--port", str(self.port), "--ready-fd", str(child_end), *self.arguments]
        self.process = subprocess.Popen(command, pass_fds=(child_end,))
        os.close(child_end)
        try:
            assert select.select([ready], [], [], SECONDS)[0], "the gateway did not start in time"
            line = os.read(ready, 4096)
        finally:
            os.close(ready)
        assert b'"ready"' in line, f"the gateway did not start: {line!r}"
        return self

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=SECONDS, trust_env=False, **options)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        assert self.process is not None, "not started"
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(SECONDS)
