"""Secrets of a secured cluster are looked for in all that its programs show: output, errors, logs, metrics, settings, pages,
processes.
"""

import base64
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from secured import HOST, SECONDS, SecuredUp

from headrace.cli import app
from headrace.cli.failure import ExitCode
from headrace.cli.run.ports import free_port
from headrace.client.properties import read_properties

ALICE, WRONG, KEY_PASSWORD = "alice-knows-it-8841", "a-wrong-guess-5523", "the-key-is-locked-7719"
# Commands that show something of everything; each is run for people and for programs.
COMMANDS = (
    ("cluster", "status"),
    ("config", "get", "--all"),
    ("topic", "list"),
    ("topic", "describe", "seen", "--all-configs"),
    ("group", "list"),
    ("txn", "list"),
    ("user", "list"),
    ("acl", "list"),
    ("webhook", "list"),
    ("doctor",),
    ("user", "add", "bob"),
    ("config", "set", "no.such.setting=1"),
)
PAGES = ("/", "/docs", "/ui/topics", "/ui/topics/seen", "/ui/brokers", "/ui/groups", "/openapi.json")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredUp]:
    home = tmp_path_factory.mktemp("hidden")
    file = home / "headrace.toml"
    file.write_text(f'[broker]\n"listener.name.brokers.ssl.key.password" = "{KEY_PASSWORD}"\n')
    file.chmod(0o600)
    running = SecuredUp(home, f"--config={file}").start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def alice(up: SecuredUp) -> Path:
    return up.add_user("alice", ALICE)


@pytest.fixture(scope="module")
def secrets(up: SecuredUp) -> dict[str, str]:
    """Every one of them by what it is; of a key a line from its middle."""
    keys = {name: (up.data / "secure" / name).read_text() for name in ("ca.key", "broker-1.pem", "gateway.pem")}
    found = {"alice": ALICE, "wrong": WRONG, "key password": KEY_PASSWORD, "admin": up.admin["sasl.password"]}
    found["gateway"] = read_properties(str(up.data / "secure" / "gateway-login.properties"))["sasl.password"]
    found["webhook key"] = (up.data / "secure" / "webhook.keys").read_text().strip()
    for name, text in keys.items():
        body = re.search(r"BEGIN PRIVATE KEY-----\n(.*?)\n-----END", text, re.DOTALL)
        assert body
        found[name] = body[1].splitlines()[1]
    return found


def shown(text: str, secrets: dict[str, str]) -> list[str]:
    return [name for name, secret in secrets.items() if secret in text]


def files_of_users(up: SecuredUp, folder: Path) -> Iterator[Path]:
    """Those of an administrator, a user, one with a wrong password, and two that cannot be read."""
    yield up.admin_file
    yield up.user_file("alice", ALICE)
    wrong = folder / "wrong.properties"
    wrong.write_text(up.user_file("alice", WRONG).read_text())
    yield wrong
    for number, text in enumerate((f"sasl.password {WRONG}\n", f"sasl.passwort={WRONG}\n")):
        broken = folder / f"broken-{number}.properties"
        broken.write_text(text)
        yield broken


def test_commands_and_their_errors(up, alice, secrets, tmp_path, monkeypatch, capsys) -> None:
    assert up.cli("topic", "create", "seen").code == 0
    monkeypatch.delenv("HEADRACE_BOOTSTRAP", raising=False)
    monkeypatch.setenv("HEADRACE_GATEWAY", up.serving["gateway"]["url"])
    codes = set()
    for file in files_of_users(up, tmp_path):
        monkeypatch.setenv("HEADRACE_CONFIG", str(file))
        for words in COMMANDS:
            for more in ((), ("--json",)):
                codes.add(app.run([*words, *more]))
                out, err = capsys.readouterr()
                assert shown(out + err, secrets) == [], (words, more, file)
    assert codes >= {ExitCode.OK, ExitCode.USAGE, ExitCode.REFUSED}


def fetched(port: int, path: str, login: str = "") -> str:
    """The body of an answer, of a refusal too."""
    asked = urllib.request.Request(f"http://{HOST}:{port}{path}")
    if login:
        asked.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


def test_processes(up: SecuredUp, secrets: dict[str, str]) -> None:
    listed = subprocess.run(["ps", "-eww", "-o", "args="], capture_output=True, text=True, timeout=SECONDS, check=True)
    assert "headrace.cli serve" in listed.stdout
    assert shown(listed.stdout, secrets) == []


def test_metrics_and_health(up: SecuredUp, secrets: dict[str, str]) -> None:
    for path in ("/metrics", "/metrics/partitions", "/livez", "/readyz"):
        assert shown(fetched(up.metrics_port, path), secrets) == [], path


def test_a_gateway_and_its_pages(up: SecuredUp, secrets: dict[str, str], tmp_path: Path) -> None:
    """What it shows to an administrator must not be how he logged in; nor what a stranger is shown."""
    login = f"admin:{secrets['admin']}"
    port, log = free_port(HOST), tmp_path / "gateway.log"
    secure = up.data / "secure"
    words = [f"--client-config={up.admin_file}", f"--port={port}", "--log-level=debug", f"--log-file={log}"]
    words += [
        f"--service-config={secure / 'gateway-login.properties'}",
        f"--set=webhook_keys={secure / 'webhook.keys'}",
    ]
    command = [sys.executable, "-m", "headrace.cli", "gateway", *words, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout
        assert json.loads(process.stdout.readline())["status"] == "serving"
        described = json.loads(fetched(port, "/openapi.json", login))["paths"]
        listings = [
            path for path, ways in described.items() if "get" in ways and "{" not in path and "stream" not in path
        ]
        assert len(listings) > 5
        for path in (*PAGES, *listings):
            assert shown(fetched(port, path, login), secrets) == [], path
            assert "401" in fetched(port, path) or path in ("/health", "/ready"), path
        told = "".join(Path(f"/proc/{process.pid}/cmdline").read_text())
    finally:
        process.terminate()
        out, err = process.communicate(timeout=SECONDS)
    assert shown(told + out.decode() + err.decode() + log.read_text(), secrets) == []


def test_files_for_people_of_a_configuration(up: SecuredUp, secrets: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "headrace.toml"
    kafka = json.dumps({"sasl.username": "alice", "sasl.password": ALICE})
    file.write_text(f"[broker]\n\"ssl.key.password\" = '{KEY_PASSWORD}'\n[gateway]\nkafka = '{kafka}'\n")
    for words in (["config", "show"], ["config", "show", "--json"], ["config", "show", "--all"], ["config", "check"]):
        ran = up.cli(*words, str(file))
        assert ran.code == 0, ran.err
        assert shown(ran.out + ran.err, secrets) == [], words


def test_logs_of_the_brokers(up: SecuredUp, alice: Path, secrets: dict[str, str]) -> None:
    """The last one here: they have all that the tests above did, at the level that says most."""
    assert up.cli("produce", "seen", stdin="x\n", as_user=up.user_file("alice", WRONG)).code == 4
    logs = "".join(path.read_text() for path in up.logs.iterdir())
    assert "a login is refused" in logs
    assert shown(logs, secrets) == []


def test_a_secret_that_is_shown_is_found(secrets: dict[str, str]) -> None:
    assert shown(f"… {os.linesep} {ALICE} …", secrets) == ["alice"]
