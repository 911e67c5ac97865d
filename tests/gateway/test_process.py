"""`headrace gateway` as a process: it serves, says what it is, and ends when asked."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from gateway_process import SECONDS, GatewayProcess

from eventually import until


def test_unknown_path_is_a_problem(http: httpx.Client) -> None:
    reply = http.get("/no/such/thing")
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "fix"} <= reply.json().keys()


def test_stops_cleanly_when_asked(new_gateway: Callable[..., GatewayProcess]) -> None:
    running = new_gateway()
    with running.client() as client:
        assert client.get("/openapi.json").json()["info"]["title"] == "Headrace"
    assert running.stop() in (0, -15)


def test_starts_without_brokers(new_gateway: Callable[..., GatewayProcess]) -> None:
    with new_gateway(bootstrap="127.0.0.1:1").client() as client:
        assert client.get("/openapi.json").status_code == 200


def test_it_does_not_serve_a_network_unless_told_so(new_gateway: Callable[..., GatewayProcess]) -> None:
    command = [sys.executable, "-m", "headrace.cli", "gateway", "--host=0.0.0.0"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "the gateway at 0.0.0.0:8080 would serve everybody on the network" in ran.stderr
    told = new_gateway("--host=0.0.0.0", "--allow-insecure-network")
    with told.client() as http:
        assert http.get("/health").status_code == 200


def test_a_changed_file_is_read_again(new_gateway: Callable[..., GatewayProcess], tmp_path: Path) -> None:
    file, log = tmp_path / "headrace.toml", tmp_path / "gateway.log"
    file.write_text(f'[gateway]\nlog-format = "json"\nlog-file = "{log}"\n')
    running = new_gateway("--config", str(file))
    file.write_text(file.read_text() + 'log-level = "info"\nmessages_max = 7\n')
    os.kill(running.pid, signal.SIGHUP)
    text = until(log.read_text, lambda text: "next start" in text)
    read, later = (json.loads(line) for line in text.splitlines() if "gateway" in json.loads(line)["logger"])
    assert (read["settings"], later["settings"]) == ("info", "messages_max")
    with running.client() as client:
        assert client.get("/openapi.json").status_code == 200


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        (["--log-level", "warning"], "", 'log-level = "info"'),  # the command line wins, again
        ([], 'log-level = "info"', ""),  # what was taken out of the file goes back to its default
    ],
)
def test_a_level_that_the_file_does_not_decide(
    new_gateway: Callable[..., GatewayProcess], tmp_path: Path, words: list[str], before: str, after: str
) -> None:
    """At the level warning the first of the two lines of a reload is not written."""
    file, log = tmp_path / "headrace.toml", tmp_path / "gateway.log"
    options = f'[gateway]\nlog-format = "json"\nlog-file = "{log}"\n'
    file.write_text(options + before)
    running = new_gateway("--config", str(file), *words)
    file.write_text(f"{options}messages_max = 7\n{after}")
    os.kill(running.pid, signal.SIGHUP)
    text = until(log.read_text, lambda text: "next start" in text)
    assert "were read again" not in text
    assert json.loads(text.splitlines()[-1])["settings"] == "messages_max"
