"""`headrace webhook` against a real gateway: what it prints, and its exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gateway_process import SECONDS, GatewayProcess
from receiver import Receiver

from headrace.testing import Broker


def cli(gateway: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "headrace.cli", "webhook", *words, "--gateway", gateway]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def as_json(gateway: str, *words: str) -> Any:
    done = cli(gateway, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_life_of_a_webhook(broker: Broker, topic: str, tmp_path: Path) -> None:
    running = GatewayProcess(broker.bootstrap, "--set", "webhook_networks=127.0.0.0/8").start()
    receiver = Receiver(tmp_path)
    try:
        made = as_json(running.url, "add", topic, receiver.url, "--tries", "2")
        assert made["secret"].startswith("whsec_")
        assert made["id"] in [each["id"] for each in as_json(running.url, "list")]
        listed = cli(running.url, "list").stdout
        assert made["id"] in listed and receiver.url in listed
        assert as_json(running.url, "pause", made["id"])["state"] == "paused"
        assert "resumed" in cli(running.url, "resume", made["id"]).stdout
        assert "redriving" in cli(running.url, "redrive", made["id"]).stdout
        described = cli(running.url, "describe", made["id"]).stdout
        assert topic in described and made["secret"] not in described
        assert cli(running.url, "delete", made["id"], "--yes").returncode == 0
        gone = cli(running.url, "pause", made["id"])
        assert gone.returncode == 3
        assert "fix:" in gone.stderr
        assert cli(running.url, "add", topic, "http://10.0.0.1/").returncode == 4
    finally:
        running.stop()


@pytest.mark.parametrize("words", [("list",), ("delete", "x", "--yes")])
def test_without_a_gateway(words: tuple[str, ...]) -> None:
    done = cli("http://127.0.0.1:1", *words)
    assert done.returncode == 5
    assert "headrace gateway" in done.stderr
