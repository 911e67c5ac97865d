"""deploy/: what its files start is what `serve` understands, and a service manager hears of it."""

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.ports import free_port
from headrace.cli.serve_options import parse_arguments

DEPLOY = Path(__file__).parents[3] / "deploy"
UNIT = DEPLOY / "systemd" / "headrace@.service"
HOST = "127.0.0.1"
WAIT_SECONDS = 60


def unit_arguments(number: int, **changed: object) -> list[str]:
    """ExecStart as systemd would call it: a `${NAME}` is one word, a `$NAME` as many as it holds."""
    lines = (DEPLOY / "systemd" / "broker.env").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    settings |= {f"HEADRACE_{name.upper()}": str(value) for name, value in changed.items()}
    (command,) = re.findall(r"^ExecStart=\S+ serve (.*)$", UNIT.read_text(), re.MULTILINE)
    words = []
    for word in shlex.split(command.replace("%i", str(number))):
        if word.startswith("$") and not word.startswith("${"):
            words += settings[word[1:]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda name: settings[name[1]], word))
    return words


def test_the_unit_starts_a_broker_that_tells_its_service_manager(tmp_path: Path) -> None:
    port, metrics_port, notices = free_port(HOST), free_port(HOST), tmp_path / "notices"
    changed = {"host": HOST, "advertised_host": HOST, "port": port, "metrics_port": metrics_port, "store": ""}
    words = unit_arguments(7, **changed)
    words[words.index("--data") + 1] = str(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(notices))
        manager.settimeout(WAIT_SECONDS)
        broker = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli", "serve", *words],
            env={"NOTIFY_SOCKET": str(notices)},
            stderr=subprocess.PIPE,
        )
        try:
            assert manager.recv(100) == b"READY=1", broker.stderr.read()
            broker.send_signal(signal.SIGTERM)
            assert manager.recv(100) == b"STOPPING=1"
            assert broker.wait(WAIT_SECONDS) == 0
        finally:
            broker.kill()
            broker.communicate()
    assert (tmp_path / "broker-7" / "clean").exists()


def test_the_unit_as_it_stands_is_understood() -> None:
    options = parse_arguments(unit_arguments(3))
    assert (options.id, options.rack, options.settings["min.insync.replicas"]) == (3, "", "2")
    assert options.store.startswith("etcd://")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "headrace@1.service"
    unit.write_text(UNIT.read_text().replace("/opt/headrace/bin/headrace", "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_brokers_of_the_compose_file_are_understood() -> None:
    services = (DEPLOY / "docker" / "compose.yaml").read_text().split("\n  broker-")[1:]
    entrypoint = re.search(r"^ENTRYPOINT (\[.*\])$", (DEPLOY / "docker" / "Dockerfile").read_text(), re.MULTILINE)
    always = re.findall(r'"([^"]+)"', entrypoint[1])[2:]
    brokers = [
        parse_arguments([*always, *re.findall(r"^ +- (--\S+)$", service, re.MULTILINE)]) for service in services[:3]
    ]
    assert [(broker.id, broker.port, broker.rack) for broker in brokers] == [
        (1, 9092, "a"),
        (2, 9093, "b"),
        (3, 9094, "c"),
    ]
    assert {broker.store for broker in brokers} == {"etcd://etcd-1:2379,etcd-2:2379,etcd-3:2379/headrace"}
    assert {broker.host for broker in brokers} == {"0.0.0.0"}
