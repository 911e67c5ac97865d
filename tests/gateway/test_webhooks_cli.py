"""`headrace webhook` against a real gateway: what it prints, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from gateway_process import GatewayProcess
from receiver import Receiver

from headrace.cli.app import run
from headrace.testing import Broker


class Ran(NamedTuple):
    code: int
    text: str
    complaint: str


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def run_it(gateway: str, *words: str) -> Ran:
        code = run(["webhook", *words, "--gateway", gateway])
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run_it


def as_json(done: Ran) -> Any:
    assert done.code == 0, done.complaint
    return json.loads(done.text)


def test_the_life_of_a_webhook(cli: Cli, broker: Broker, topic: str, tmp_path: Path) -> None:
    running = GatewayProcess(broker.bootstrap, "--set", "webhook_networks=127.0.0.0/8").start()
    receiver = Receiver(tmp_path)
    try:
        made = as_json(cli(running.url, "add", topic, receiver.url, "--tries", "2", "--json"))
        assert made["secret"].startswith("whsec_")
        assert made["id"] in [each["id"] for each in as_json(cli(running.url, "list", "--json"))]
        listed = cli(running.url, "list").text
        assert made["id"] in listed and receiver.url in listed
        assert as_json(cli(running.url, "pause", made["id"], "--json"))["state"] == "paused"
        assert "resumed" in cli(running.url, "resume", made["id"]).text
        assert "redriving" in cli(running.url, "redrive", made["id"]).text
        described = cli(running.url, "describe", made["id"]).text
        assert topic in described and made["secret"] not in described
        assert cli(running.url, "delete", made["id"], "--yes").code == 0
        gone = cli(running.url, "pause", made["id"])
        assert gone.code == 3
        assert "fix:" in gone.complaint
        assert cli(running.url, "add", topic, "http://10.0.0.1/").code == 4
    finally:
        running.stop()


@pytest.mark.parametrize("words", [("list",), ("delete", "x", "--yes")])
def test_without_a_gateway(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli("http://127.0.0.1:1", *words)
    assert done.code == 5
    assert "headrace gateway" in done.complaint
