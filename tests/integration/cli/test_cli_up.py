"""`up` and `serve` as processes: they serve, stop cleanly, keep their data, and say why they do not start."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.cli.run.ports import free_port, is_free

HOST = "127.0.0.1"
WAIT = 30


def up_command(data: Path, port: int, *words: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "headrace.cli",
        "up",
        "--no-gateway",
        "--data",
        str(data),
        "--port",
        str(port),
        "--metrics-port",
        str(free_port(HOST, 2)),
        *words,
    ]


@contextlib.contextmanager
def running_up(data: Path, port: int, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], dict]]:
    process = subprocess.Popen(up_command(data, port, "--json", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read().decode()
        yield process, json.loads(line)
    finally:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """How it ended and what it complained about, other than of a busy machine."""
    _, err = process.communicate(timeout=WAIT)
    lines = [line for line in err.decode().splitlines(keepends=True) if '"logger": "headrace.loop"' not in line]
    return process.returncode, "".join(lines)


def next_error(process: subprocess.Popen[bytes]) -> dict:
    """What `up` itself complains of next; brokers of a busy machine log on the same stream."""
    while "error" not in (said := json.loads(process.stderr.readline())):
        continue
    return said


def until_gone(pid: int) -> None:
    """The life pipe of a child of ours is not ours to read; a process that is gone cannot be opened."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            import select

            assert select.select([descriptor], [], [], WAIT)[0], f"{pid} lives on"
        finally:
            os.close(descriptor)


@pytest.fixture
def port() -> int:
    return free_port(HOST)


def test_serves_stops_cleanly_and_finds_its_data_again(offline_cli, tmp_path: Path, port: int) -> None:
    data, where = tmp_path / "data", f"--bootstrap={HOST}:{port}"
    with running_up(data, port, "--set", "num.partitions=3") as (process, serving):
        [broker] = serving["brokers"]
        assert serving["bootstrap"] == f"{HOST}:{port}"
        assert broker["pid"] == int((data / "broker-1" / "pid").read_text())
        assert Path(broker["data"]) == data / "broker-1"
        assert offline_cli("produce", "demo", "-p", "0", where, stdin=b"hello\n").code == 0
        assert len(offline_cli("topic", "describe", "demo", "--json", where).json[0]["partitions"]) == 3
        process.send_signal(signal.SIGINT)
        assert finished(process) == (0, "")
    assert not (data / "broker-1" / "pid").exists()
    with running_up(data, port) as (process, _):
        assert offline_cli("consume", "demo", where).text == "hello\n"
        process.send_signal(signal.SIGTERM)
        assert finished(process) == (0, "")
    dumped = offline_cli("log", "dump", str(data), "demo", "0", "--records")
    assert (dumped.code, "hello" in dumped.text) == (0, True)


def test_the_panel_says_where_and_what_to_try(tmp_path: Path, port: int) -> None:
    process = subprocess.Popen(up_command(tmp_path, port), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shown = b"".join(iter(lambda: process.stdout.readline(), b"  Ctrl-C stops it; the data stays.\n")).decode()
    # They are there to be copied: what is installed here must do as it says.
    (python,) = [line.strip() for line in shown.splitlines() if "import headrace" in line]
    tried = subprocess.run(shlex.split(python), cwd=tmp_path, capture_output=True, text=True, timeout=WAIT, check=False)
    process.send_signal(signal.SIGINT)
    code, err = finished(process)
    assert (code, err) == (0, "stopping; Ctrl-C again stops at once\n")
    assert (tried.returncode, "Delivered(topic='demo'" in tried.stdout) == (0, True), tried.stderr
    assert ("kcat" in shown) is bool(shutil.which("kcat"))
    for word in (f"{HOST}:{port}", "produce demo", "consume demo", "/metrics"):
        assert word in shown


def test_several_brokers_and_the_death_of_all(run, tmp_path: Path, port: int) -> None:
    with running_up(tmp_path, port, "--brokers", "2") as (process, serving):
        first, second = serving["brokers"]
        assert (first["port"], second["port"]) == (port, port + 1)
        os.kill(second["pid"], signal.SIGKILL)
        assert "broker 2 was ended by SIGKILL" in next_error(process)["error"]
        assert process.poll() is None
        os.kill(first["pid"], signal.SIGKILL)
        assert "broker 1 was ended by SIGKILL" in next_error(process)["error"]
        # The last one's death is no end: `headrace start` brings it back.
        started = run("start", "1", "--data", str(tmp_path), "--json")
        assert started.code == 0 and started.json["port"] == port
        process.send_signal(signal.SIGTERM)
        assert finished(process)[0] == 0


def test_brokers_that_die_are_started_again_when_asked_for(run, tmp_path: Path, port: int) -> None:
    with running_up(tmp_path, port, "--brokers", "2", "--restart") as (process, serving):
        for broker in serving["brokers"]:
            os.kill(broker["pid"], signal.SIGKILL)
        told = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert sorted(each["broker"]["id"] for each in told) == [1, 2]
        assert {each["status"] for each in told} == {"started"}
        assert run("stop", "1", "--data", str(tmp_path)).code == 0
        said = [next_error(process) for _ in range(3)]
        assert [each["fix"] for each in said] == ["it is started again in 1 s (--restart)"] * 2 + [""]
        process.send_signal(signal.SIGTERM)
        assert finished(process)[0] == 0


def test_brokers_die_with_a_killed_supervisor(tmp_path: Path, port: int) -> None:
    with running_up(tmp_path, port) as (process, serving):
        process.kill()
        process.wait(WAIT)
        until_gone(serving["brokers"][0]["pid"])
    assert is_free(HOST, port)
    assert (tmp_path / "broker-1" / "clean").exists()


def test_a_taken_port_is_named(tmp_path: Path, port: int) -> None:
    with socket.create_server((HOST, port)):
        ran = subprocess.run(up_command(tmp_path, port), capture_output=True, timeout=WAIT, check=False)
    assert ran.returncode == 1
    assert f"port {port} is taken by another program" in ran.stderr.decode()
    assert f"pid {os.getpid()}" in ran.stderr.decode()


def test_a_running_broker_on_the_port_is_named_as_one(tmp_path: Path, port: int) -> None:
    with running_up(tmp_path / "one", port) as (_, serving):
        ran = subprocess.run(up_command(tmp_path / "two", port), capture_output=True, timeout=WAIT, check=False)
        assert ran.returncode == 1
        assert f"port {port} is taken by a Kafka broker" in ran.stderr.decode()
        assert f"kill {serving['brokers'][0]['pid']}" in ran.stderr.decode()


def test_a_data_directory_in_use_is_named(tmp_path: Path, port: int) -> None:
    with running_up(tmp_path, port) as (_, serving):
        ran = subprocess.run(up_command(tmp_path, free_port(HOST)), capture_output=True, timeout=WAIT, check=False)
        assert ran.returncode == 1
        said = ran.stderr.decode()
        assert "in use" in said and str(serving["brokers"][0]["pid"]) in said
        assert len(said.splitlines()) == 2, said


def start_and_fail(tmp_path: Path, *words: str) -> tuple[int, dict]:
    command = up_command(tmp_path, free_port(HOST), "--json", *words)
    ran = subprocess.run(command, capture_output=True, timeout=WAIT, check=False)
    return ran.returncode, json.loads(ran.stderr)


def test_wrong_data_directories(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "photo.jpg").touch()
    code, said = start_and_fail(foreign)
    assert (code, "photo.jpg" in said["error"], "--data" in said["fix"]) == (1, True, True)
    code, said = start_and_fail(foreign / "photo.jpg")
    assert (code, "is a file" in said["error"]) == (1, True)


def test_a_directory_of_another_cluster_or_a_newer_format(tmp_path: Path, port: int) -> None:
    with running_up(tmp_path, port) as (process, _):
        process.terminate()
        finished(process)
    marker = tmp_path / "broker-1" / "broker"
    mine = json.loads(marker.read_text())
    marker.write_text(json.dumps({**mine, "cluster": "another"}))
    code, said = start_and_fail(tmp_path)
    assert (code, "belongs to cluster another" in said["error"], bool(said["fix"])) == (1, True, True)
    marker.write_text(json.dumps({**mine, "v": 99}))
    code, said = start_and_fail(tmp_path)
    assert (code, "format 99" in said["error"], bool(said["fix"])) == (1, True, True)


def test_wrong_settings(tmp_path: Path) -> None:
    code, said = start_and_fail(tmp_path, "--set", "num.partition=3")
    assert (code, "num.partitions" in said["fix"]) == (2, True)
    code, said = start_and_fail(tmp_path, "--set", "num.partitions=many")
    assert (code, "num.partitions" in said["error"]) == (2, True)


def test_serve_explains_a_taken_port_in_one_line(offline_cli, tmp_path: Path, port: int) -> None:
    with socket.create_server((HOST, port)):
        for words in ([f"--port={port}", "--metrics-port=0"], ["--port=0", f"--metrics-port={port}"]):
            ran = offline_cli("serve", f"--data={tmp_path}", "--json", *words)
            said = json.loads(ran.err)
            assert (ran.code, f"port {port} is taken" in said["error"]) == (1, True)
            assert "port" in said["fix"]


def test_ports_that_do_not_exist(tmp_path: Path) -> None:
    command = up_command(tmp_path, 65535, "--brokers", "2", "--json")
    ran = subprocess.run(command, capture_output=True, timeout=WAIT, check=False)
    assert (ran.returncode, json.loads(ran.stderr)["error"]) == (2, "there is no port 65536")


def test_serve_alone_tells_its_supervisor_and_obeys_signals(tmp_path: Path, port: int) -> None:
    read_end, write_end = os.pipe()
    command = [sys.executable, "-m", "headrace.cli", "serve", "--id=7", f"--port={port}", "--metrics-port=0"]
    command += [f"--data={tmp_path}", f"--ready-fd={write_end}", "--log-format=json", "--rack=r1"]
    process = subprocess.Popen(command, pass_fds=[write_end], stderr=subprocess.PIPE)
    os.close(write_end)
    with os.fdopen(read_end) as status:
        ready = json.loads(status.readline())
        assert (ready["status"], ready["id"], ready["port"], ready["pid"]) == ("ready", 7, port, process.pid)
        assert ready["metrics_port"] > 0
        process.send_signal(signal.SIGTERM)
        code, err = finished(process)
        assert code == 0
        lines = [json.loads(line) for line in err.splitlines()]
        assert all(line["broker"] == 7 for line in lines)
        assert "stopped cleanly" in lines[-1]["message"]
        assert status.read() == ""


def test_doctor_sees_a_running_broker(offline_cli, tmp_path: Path, port: int) -> None:
    with running_up(tmp_path, port) as (_, serving):
        words = ["--data", str(tmp_path), "--port", str(port), f"--bootstrap={HOST}:{port}"]
        found = {finding["name"]: finding for finding in offline_cli("doctor", "--json", *words).json}
        assert f"pid {serving['brokers'][0]['pid']}" in found["broker 1"]["text"]
        assert "a Kafka broker" in found["kafka port"]["text"]
        assert found["brokers"]["verdict"] == "ok"
        assert offline_cli("doctor", *words).code == 0


def test_a_broker_that_is_stopped_is_ended_and_started_again(tmp_path: Path, port: int) -> None:
    with running_up(tmp_path / "data", port, "--brokers", "3") as (process, serving):
        os.kill(serving["brokers"][1]["pid"], signal.SIGSTOP)
        stopped, started = (json.loads(process.stdout.readline()) for _ in range(2))
        assert stopped["status"] == "stopped" and stopped["broker"] == 2
        assert "--end-stopped-after" in stopped["cause"]
        assert started["status"] == "started" and started["broker"]["id"] == 2
        assert started["broker"]["pid"] == int((tmp_path / "data" / "broker-2" / "pid").read_text())
        process.send_signal(signal.SIGTERM)
        assert finished(process)[0] == 0


def test_brokers_serve_until_the_gateway_has_ended(tmp_path: Path, port: int) -> None:
    """It has groups to leave. Here it is held (SIGSTOP), and the brokers with it."""
    words = [
        word
        for word in up_command(tmp_path / "data", port, "--http-port", str(free_port(HOST)))
        if "no-gate" not in word
    ]
    process = subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _, gateway = (json.loads(process.stdout.readline()) for _ in range(2))
        os.kill(gateway["pid"], signal.SIGSTOP)
        process.terminate()
        with headrace.connect(f"{HOST}:{port}") as client:
            # Without that care they are gone after some of these.
            assert [client.produce("orders", "x").offset for _ in range(300)] == list(range(300))
        os.kill(gateway["pid"], signal.SIGCONT)
        code, said = finished(process)
        assert code == 0, said
        # One that stood still finds that a broker did not answer it in time, and warns of that.
        assert [line for line in said.splitlines() if json.loads(line)["level"] != "warning"] == []
    finally:
        process.kill()
        process.communicate()
