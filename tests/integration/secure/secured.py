"""`headrace up --secure` as a process of a test, and clients of every kind with the files that it writes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from headrace.cli.run.ports import free_port
from headrace.client.properties import read_properties

HOST = "127.0.0.1"
SECONDS = 60


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class SecuredUp:
    """The same data and ports over stop and start."""

    def __init__(self, home: Path, *words: str, brokers: int = 1) -> None:
        self.data = home / "data"
        self.logs = home / "logs"
        self.port = free_port(HOST, brokers)
        self.metrics_port = free_port(HOST, brokers)
        self.words = [f"--brokers={brokers}", f"--log-dir={self.logs}", "--log-level=debug", *words]
        self.serving: dict[str, Any] = {}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def admin_file(self) -> Path:
        return self.data / "secure" / "admin.properties"

    @property
    def bootstrap(self) -> str:
        return str(self.serving["bootstrap"])

    @property
    def admin(self) -> dict[str, str]:
        return read_properties(str(self.admin_file))

    def start(self) -> "SecuredUp":
        where = [f"--data={self.data}", f"--port={self.port}", f"--metrics-port={self.metrics_port}"]
        command = [sys.executable, "-m", "headrace.cli", "up", "--secure", "--json", *where, *self.words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout and self.process.stderr
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        self.serving = json.loads(line)
        return self

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=SECONDS)
        return self.process.returncode

    def user_file(self, name: str, password: str) -> Path:
        """The settings of another user's clients, as an administrator would hand them on."""
        path = self.data.parent / f"{name}.properties"
        told = {**self.admin, "sasl.username": name, "sasl.password": password}
        path.write_text("".join(f"{key}={value}\n" for key, value in told.items()))
        path.chmod(0o600)
        return path

    def cli(self, *words: str, stdin: str = "", as_user: Path | None = None) -> Ran:
        """The command line, by the variable as the administrator, or as the user of a file."""
        environment = {**os.environ, "HEADRACE_CONFIG": str(as_user or self.admin_file)}
        environment.pop("HEADRACE_BOOTSTRAP", None)
        command = [sys.executable, "-m", "headrace.cli", *words]
        ran = subprocess.run(
            command, input=stdin, capture_output=True, text=True, env=environment, timeout=SECONDS, check=False
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def add_user(self, name: str, password: str) -> Path:
        assert self.cli("user", "add", name, "--password-file", "-", stdin=password).code == 0
        return self.user_file(name, password)
