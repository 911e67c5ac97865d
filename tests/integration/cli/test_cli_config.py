"""A configuration file for `serve` and `up`, its reload by SIGHUP, and the settings of running brokers by command line."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eventually import until
from headrace.cli.run.ports import free_port

HOST = "127.0.0.1"
WAIT = 30


def headrace(*words: str) -> list[str]:
    return [sys.executable, "-m", "headrace.cli", *words]


@pytest.fixture
def port() -> int:
    return free_port(HOST)


@pytest.fixture
def file(tmp_path: Path, port: int) -> Path:
    path = tmp_path / "headrace.toml"
    options = f'port = {port}\ndata = "{tmp_path / "data"}"\n'
    broker = "num.partitions = 4\nlog.retention.hours = 5\n"
    path.write_text(
        f"[broker]\n{broker}[serve]\nmetrics-port = 0\n{options}[up]\nmetrics-port = {free_port(HOST)}\n{options}"
    )
    return path


@pytest.fixture
def serving(file: Path) -> Iterator[subprocess.Popen[bytes]]:
    read, write = os.pipe()
    process = subprocess.Popen(
        headrace("serve", "--config", str(file), "--ready-fd", str(write), "--set", "log.retention.hours=7", "--json"),
        pass_fds=(write,),
        stderr=subprocess.PIPE,
    )
    os.close(write)
    try:
        with os.fdopen(read, "rb") as status:
            assert json.loads(status.readline())["status"] == "ready"
        yield process
    finally:
        process.kill()
        process.communicate()


def broker_config(run: Any, where: str, name: str) -> dict[str, Any]:
    [found] = run("config", "get", name, "--broker", "1", "--json", where).json
    return found


def test_serve_reads_a_file_and_reads_it_again(
    run: Any, file: Path, port: int, serving: subprocess.Popen[bytes]
) -> None:
    where = f"--bootstrap={HOST}:{port}"
    assert broker_config(run, where, "num.partitions")["value"] == "4"
    # The command line wins.
    assert broker_config(run, where, "log.retention.hours")["value"] == "7"
    run("topic", "create", "old", where)
    new = "num.partitions = 5\nlog.segment.bytes = 2000000\nsocket.listen.backlog.size = 9"
    file.write_text(file.read_text().replace("num.partitions = 4", new))
    serving.send_signal(signal.SIGHUP)
    until(lambda: broker_config(run, where, "num.partitions")["value"] == "5")
    assert broker_config(run, where, "num.partitions")["source"] == "broker"
    assert broker_config(run, where, "socket.listen.backlog.size")["value"] == "1024"
    [old] = run("topic", "describe", "old", "--all-configs", "--json", where).json
    assert {"name": "segment.bytes", "value": "2000000", "source": "broker"} in old["configs"]
    file.write_text("[broker]\nnum.partition = 9")
    serving.send_signal(signal.SIGHUP)
    for line in serving.stderr:
        if "nothing was changed" in (said := json.loads(line)["message"]):
            break
    assert "headrace.toml:2: there is no setting num.partition" in said and "num.partitions?" in said
    assert broker_config(run, where, "num.partitions")["value"] == "5"


def test_up_takes_its_options_and_settings_from_a_file(run: Any, file: Path, port: int) -> None:
    process = subprocess.Popen(
        headrace("up", "--config", str(file), "--no-gateway", "--json", "--set", "num.partitions=6"),
        stdout=subprocess.PIPE,
    )
    try:
        assert json.loads(process.stdout.readline())["bootstrap"] == f"{HOST}:{port}"
        where = f"--bootstrap={HOST}:{port}"
        assert broker_config(run, where, "num.partitions")["value"] == "6"
        assert broker_config(run, where, "log.retention.hours")["value"] == "5"
    finally:
        process.terminate()
        process.communicate(timeout=WAIT)


@contextlib.contextmanager
def running_up(file: Path, *words: str, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        headrace("up", "--config", str(file), "--json", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **how,
    )
    try:
        assert json.loads(process.stdout.readline())["status"] == "serving"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_up_reads_its_file_again_and_its_brokers_with_it(run: Any, file: Path, port: int, tmp_path: Path) -> None:
    where, data = f"--bootstrap={HOST}:{port}", f"--data={tmp_path / 'data'}"
    with running_up(file, "--no-gateway", "--set", "log.retention.hours=7") as process:
        right = (
            file.read_text().replace("num.partitions = 4", "num.partitions = 5") + "brokers = 2\nlog-level = 'info'\n"
        )
        file.write_text(right)
        process.send_signal(signal.SIGHUP)
        assert json.loads(process.stdout.readline()) == {
            "status": "read again",
            "changed": ["num.partitions", "log-level"],
            "later": ["brokers"],
        }
        until(lambda: broker_config(run, where, "num.partitions")["value"] == "5")
        assert broker_config(run, where, "log.retention.hours")["value"] == "7"
        # At the level that the file asks for, the broker says so.
        assert said_by(process, "message", "settings were read again")["message"].endswith("changed: num.partitions")
        file.write_text("[broker]\nnum.partition = 9")
        process.send_signal(signal.SIGHUP)
        wrong = said_by(process, "error", "nothing was changed")
        assert (
            "headrace.toml:2: there is no setting num.partition" in wrong["error"] and "num.partitions?" in wrong["fix"]
        )
        assert broker_config(run, where, "num.partitions")["value"] == "5"
        # What starts later starts with what was read.
        assert run("kill", "1", data).code == run("start", "1", data).code == 0
        assert broker_config(run, where, "num.partitions")["value"] == "5"
        assert run("start", "2", data).code == 0
        # Broker 1 has to hear of it first.
        of_two = ("config", "get", "num.partitions", "--broker", "2", "--json", where)
        until(lambda: run(*of_two).code == 0)
        assert run(*of_two).json[0]["value"] == "5"
        process.terminate()
        assert process.wait(WAIT) == 0


def said_by(process: subprocess.Popen[bytes], name: str, text: str) -> dict[str, Any]:
    """The next line on stderr whose field says so; those of the brokers come there too."""
    while text not in (said := json.loads(process.stderr.readline())).get(name, ""):
        continue
    return said


def test_the_gateway_of_up_reads_the_file_again(file: Path, tmp_path: Path) -> None:
    log = tmp_path / "gateway.log"
    file.write_text(f'{file.read_text()}http-port = {free_port(HOST)}\n[gateway]\nlog-file = "{log}"\n')
    with running_up(file) as process:
        assert json.loads(process.stdout.readline())["status"] == "gateway"
        file.write_text(f"{file.read_text()}messages_max = 7\n")
        process.send_signal(signal.SIGHUP)
        until(log.read_text, lambda text: "these count from the next start on: messages_max" in text)
        process.terminate()
        assert process.wait(WAIT) == 0


def test_up_ends_with_its_terminal_also_with_a_file(file: Path) -> None:
    ours, terminal = os.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    with running_up(file, "--no-gateway", start_new_session=True, preexec_fn=take_terminal, stdin=terminal) as process:
        os.close(terminal)
        os.close(ours)
        assert process.wait(WAIT) == 0


def test_a_wrong_file_is_told_by_every_command_that_takes_one(run: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[broker]\nnum.partition = 3\n")
    for words in (["up", "--config"], ["gateway", "--config"], ["config", "check"]):
        ran = run(*words, str(wrong), "--json")
        assert ran.code == 2, (words, ran)
        said = json.loads(ran.err)
        assert f"{wrong}:2: there is no setting num.partition" == said["error"]
        assert said["fix"] == "Did you mean num.partitions?"
    assert run("config", "check", str(tmp_path / "none.toml")).code == 2
    serve = subprocess.run(headrace("serve", "--config", str(wrong)), capture_output=True, timeout=WAIT, check=False)
    assert serve.returncode == 2 and b"Did you mean num.partitions?" in serve.stderr


def test_a_file_is_shown_with_the_line_of_each_setting(run: Any, file: Path) -> None:
    rows = run("config", "show", str(file), "--json").json
    assert {"section": "broker", "name": "num.partitions", "value": "4", "source": f"{file}:2"} in rows
    assert len(rows) == run("config", "check", str(file), "--json").json["settings"]
    every = {row["name"] for row in run("config", "show", str(file), "--all", "--json").json}
    assert {"max.connections", "messages_max"} < every
    assert {"advertised-host", "store", "log-files", "end-stopped-after", "restart"} < every
    assert "num.partitions" in run("config", "show", str(file)).text


def test_settings_of_running_brokers_are_set_and_taken_back(run: Any) -> None:
    [before] = run("config", "get", "max.connections", "--broker", "1", "--json").json
    assert run("config", "set", "max.connections=70000").code == 0
    [for_all] = run("config", "get", "max.connections", "--json").json
    assert (for_all["value"], for_all["source"]) == ("70000", "cluster (dynamic)")
    assert run("config", "set", "max.connections=80000", "--broker", "1").code == 0
    [of_one] = run("config", "get", "max.connections", "--broker", "1", "--json").json
    assert (of_one["value"], of_one["source"]) == ("80000", "broker (dynamic)")
    assert run("config", "unset", "max.connections", "--broker", "1", "--json").code == 0
    assert run("config", "unset", "max.connections", "--json").json["configs"] == {"max.connections": None}
    assert run("config", "get", "max.connections", "--broker", "1", "--json").json == [before]
    refused = run("config", "set", "max.connection=1", "--json")
    assert (refused.code, json.loads(refused.err)["fix"]) == (2, "Did you mean max.connections?")
    assert run("config", "set", "socket.listen.backlog.size=5").code == 4
    assert run("config", "set", "max.connections=5", "--broker", "99").code == 4
