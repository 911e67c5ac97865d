"""deploy/systemd: the units start what they say, and a service manager hears of it."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.cli.config.file import read_config
from headrace.cli.run.gateway_config import gateway_settings
from headrace.cli.run.ports import free_port
from headrace.cli.run.serve_options import parse_arguments

SYSTEMD = Path(__file__).parents[2] / "deploy" / "systemd"
BROKER, GATEWAY = SYSTEMD / "headrace@.service", SYSTEMD / "headrace-gateway.service"
FILE = SYSTEMD / "headrace.toml"
INSTALLED_FILE = "/etc/headrace/headrace.toml"
HOST = "127.0.0.1"
WAIT_SECONDS = 60


def words_of(unit: Path, file: Path, options: Sequence[str] = (), number: int = 0) -> list[str]:
    """ExecStart as systemd would call it, the file at another place. `$HEADRACE_OPTIONS` is as many words as it holds."""
    (command,) = re.findall(r"^ExecStart=\S+/headrace (.*)$", unit.read_text(), re.MULTILINE)
    words: list[str] = []
    for word in shlex.split(command.replace("%i", str(number)).replace(INSTALLED_FILE, str(file))):
        words += options if word == "$HEADRACE_OPTIONS" else [word]
    return words


class Manager:
    """Listens where a unit's process tells how it is."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "notices"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._path))
        self._socket.settimeout(WAIT_SECONDS)

    def __enter__(self) -> "Manager":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def start(self, words: Sequence[str]) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "NOTIFY_SOCKET": str(self._path), "WATCHDOG_USEC": "400000"}
        return subprocess.Popen([sys.executable, "-m", "headrace.cli", *words], env=environment)

    def next_notice(self) -> str:
        return self._socket.recv(100).decode()


@pytest.mark.parametrize(("unit", "number"), [(BROKER, 7), (GATEWAY, 0)])
def test_a_unit_starts_what_tells_its_service_manager(unit: Path, number: int, tmp_path: Path) -> None:
    text = FILE.read_text()
    for name, value in {"host": f'"{HOST}"', "data": f'"{tmp_path}"', "store": '""', "advertised-host": '""'}.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
    text = re.sub(r"broker-[123].example.internal:\d+", f"{HOST}:1", text)
    text = re.sub(r"^port = 8080$", f"port = {free_port(HOST)}", text, flags=re.MULTILINE)
    file = tmp_path / "headrace.toml"
    file.write_text(text)
    # As broker-7.env says it.
    options = [f"--port={free_port(HOST)}", f"--metrics-port={free_port(HOST)}"]
    with ExitStack() as stack:
        manager = stack.enter_context(Manager(tmp_path))
        process = manager.start(words_of(unit, file, options, number))
        stack.callback(process.wait)
        stack.callback(process.kill)
        assert manager.next_notice() == "READY=1"
        assert manager.next_notice() == "WATCHDOG=1"
        process.send_signal(signal.SIGHUP)
        assert manager.next_notice() == "WATCHDOG=1", "ExecReload does not end it"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
    assert (tmp_path / "broker-7" / "clean").exists() == (unit is BROKER)


def test_the_file_as_it_stands_is_understood() -> None:
    options = parse_arguments(words_of(BROKER, FILE, number=3)[1:])
    assert (options.id, options.settings["min.insync.replicas"], options.log_format) == (3, "2", "json")
    assert options.store.startswith("etcd://") and options.data == "/var/lib/headrace"
    assert gateway_settings(read_config(str(FILE)), {}).bootstrap.startswith("broker-1.")


@pytest.mark.parametrize("unit", [BROKER, GATEWAY])
def test_a_unit_names_pages_and_files_that_the_installation_puts_there(unit: Path) -> None:
    (page,) = re.findall(r"^Documentation=file:(\S+)$", unit.read_text(), re.MULTILINE)
    assert page in installed()
    assert {f"/etc/systemd/system/{unit.name}", INSTALLED_FILE} <= installed()


def installed() -> set[str]:
    """The files that the `install` lines of docs/deploy.md write."""
    root, found = SYSTEMD.parents[1], set[str]()
    for line in re.findall(r"^install -D -m 644 (.*)$", (root / "docs" / "deploy.md").read_text(), re.MULTILINE):
        words = shlex.split(line, comments=True)
        if words[0] == "-t":
            found |= {f"{words[1]}/{path.name}" for pattern in words[2:] for path in root.glob(pattern)}
        else:
            found.add(words[1])
    return found


@pytest.mark.parametrize("unit", [BROKER, GATEWAY])
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_no_fault_with_a_unit(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name.replace("@", "@1")
    copy.write_text(unit.read_text().replace("/opt/headrace/bin/headrace", "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
