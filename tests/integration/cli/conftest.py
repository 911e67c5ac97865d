"""The real command line as a child process, against the broker of all integration tests."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest


class Ran(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Ran]


def run_cli(*arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-m", "headrace.cli", *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(environment or {})},
        timeout=60,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr.decode())


@pytest.fixture
def cli(bootstrap: str) -> Cli:
    return lambda *arguments, stdin=b"": run_cli(*arguments, stdin=stdin, environment={"HEADRACE_BOOTSTRAP": bootstrap})


@pytest.fixture
def run(bootstrap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line within this process: for tests of many commands, each of which takes a second to load."""
    from headrace.cli import app

    monkeypatch.setenv("HEADRACE_BOOTSTRAP", bootstrap)

    def ran(*arguments: str) -> Ran:
        code = app.run(arguments)
        out, err = capsys.readouterr()
        return Ran(code, out.encode(), err)

    return ran


@pytest.fixture
def offline_cli() -> Cli:
    return run_cli
