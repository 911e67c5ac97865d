"""Which commands take --client-config, and what it makes of a command's settings."""

from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from headrace.cli import app
from headrace.cli.client_file import client_settings, pairs_of_settings, security_settings
from headrace.cli.failure import ExitCode
from headrace.cli.messages.librdkafka import client_config

SECRET = "do-not-show-me"


def commands(group: TyperGroup, before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            found |= commands(command, f"{before}{name} ")
        else:
            found[before + name] = command
    return found


def test_every_command_that_asks_brokers_takes_it() -> None:
    tree = commands(app.command_tree())
    takes = {name for name, command in tree.items() if any("--client-config" in each.opts for each in command.params)}
    assert takes >= {
        "topic list",
        "produce",
        "consume",
        "group describe",
        "cluster status",
        "backup create",
        "doctor",
        "webhook list",
    }
    assert not takes & {"up", "kill", "log dump", "plan", "config check", "version"}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What `topic list` would have asked whom with."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def with_admin(bootstrap: str, _: object) -> list[object]:
        asked.append((bootstrap, client_config(bootstrap)))
        return []

    monkeypatch.setattr("headrace.cli.connection.with_admin", with_admin)
    monkeypatch.delenv("HEADRACE_BOOTSTRAP", raising=False)
    monkeypatch.delenv("HEADRACE_CONFIG", raising=False)
    return asked


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(f"bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.password={SECRET}\nclient.id=me\n")
    path.chmod(0o600)
    return path


def test_the_file_says_where_and_who(seen: list[Any], file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert app.run(["topic", "list", "--client-config", str(file)]) == ExitCode.OK
    monkeypatch.setenv("HEADRACE_CONFIG", str(file))
    assert app.run(["topic", "list"]) == ExitCode.OK
    for bootstrap, config in seen:
        assert (bootstrap, config["bootstrap.servers"]) == ("a:1", "a:1")
        assert (config["sasl.password"], config["client.id"]) == (SECRET, "me")
    assert app.run(["topic", "list", "--bootstrap", "b:2"]) == ExitCode.OK
    assert seen[-1][1]["bootstrap.servers"] == "b:2"
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", "c:3")
    assert app.run(["topic", "list"]) == ExitCode.OK
    assert seen[-1][1]["bootstrap.servers"] == "c:3"
    assert security_settings() == {"security.protocol": "SASL_SSL", "sasl.password": SECRET}


def test_a_command_forgets_what_an_earlier_one_was_told(seen: list[Any], file: Path) -> None:
    app.run(["topic", "list", "--client-config", str(file)])
    app.run(["topic", "list"])
    assert client_settings() == {}
    assert seen[-1][0] == "127.0.0.1:9092"


def test_a_wrong_file_is_wrong_usage(seen: list[Any], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"sasl.pasword={SECRET}")
    assert app.run(["topic", "list", "--client-config", str(file), "--json"]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "did you mean sasl.password?" in said
    assert SECRET not in said
    assert seen == []


def test_a_file_for_all_to_read_is_a_warning(seen: list[Any], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.chmod(0o644)
    assert app.run(["topic", "list", "--client-config", str(file), "--json"]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert f"chmod 600 {file}" in err
    assert "warning" not in out


def test_a_secret_on_the_command_line_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert pairs_of_settings([f"sasl.password={SECRET}"], "--option") == {"sasl.password": SECRET}
    told = capsys.readouterr().err
    assert ("sasl.password" in told, SECRET in told) == (True, False)
    assert pairs_of_settings(["sasl.username=me"], "--option") == {"sasl.username": "me"}
    assert capsys.readouterr().err == ""


def test_the_option_is_offered_once() -> None:
    tree = app.command_tree()
    (option,) = [each for each in commands(tree)["topic list"].params if "--client-config" in each.opts]
    assert option.envvar == "HEADRACE_CONFIG"
