"""`headrace token narrow` and `show` ask no broker, and `create` is refused before it asks one."""

import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.app import run
from headrace.security.operations import Operation, ResourceType
from headrace.security.scoped_tokens import is_genuine, narrowed, parse_token, whole_token

KEY = b"k" * 64
TOKEN = narrowed(whole_token("t1", KEY), [{"may": ["read topic orders*"]}])


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN.text}\n")
    return str(path)


def failure(capsys: pytest.CaptureFixture[str]) -> Any:
    shown = capsys.readouterr()
    assert shown.out == ""
    return json.loads(shown.err.splitlines()[-1])


def test_narrow_prints_the_token_alone(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token", "narrow", file, "--read", "orders-eu", "--from", "10.0.0.0/8", "--ttl", "5m"]) == 0
    shown = capsys.readouterr()
    token = parse_token(shown.out.removesuffix("\n"))
    assert is_genuine(token, KEY) and shown.err == ""
    assert token.caveats[:2] == (*TOKEN.caveats, {"may": ["read topic orders-eu"]})
    assert [*token.caveats[2], *token.caveats[3]] == ["from", "until"]


def test_every_option_is_a_right(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--read", "r", "--write", "w*", "--describe", "d", "--group", "g", "--txn-id", "x"]
    assert run(["token", "narrow", file, *options, "--may", "create topic tmp-*", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    scope = parse_token(said["token"])._replace(caveats=parse_token(said["token"]).caveats[1:]).scope
    for kind, operation, name in [
        ("TOPIC", "READ", "r"),
        ("TOPIC", "WRITE", "w1"),
        ("TOPIC", "DESCRIBE", "d"),
        ("GROUP", "READ", "g"),
        ("TRANSACTIONAL_ID", "WRITE", "x"),
        ("TOPIC", "CREATE", "tmp-1"),
    ]:
        assert scope.may(Operation[operation], ResourceType[kind], name), (kind, operation, name)
    assert not scope.may(Operation.READ, ResourceType.TOPIC, "d")


def test_a_token_comes_from_stdin_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO(TOKEN.text))
    assert run(["token", "show", "--json"]) == 0
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"id": "t1", "may": "read topic orders*", "from": "anywhere", "until": "its own end"}
    assert TOKEN.text.rpartition(".")[2] not in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["create"],
        ["create", "--ttl", "1h"],
        ["create", "--may", "eat topic t"],
        ["create", "--read", "t", "--ttl", "soon"],
        ["create", "--read", "t", "--ttl", "0s"],
        ["create", "--read", "t", "--from", "10.0.0.1/8"],
        ["create", "--read", "x" * 20_000],
        ["narrow", "FILE"],
        ["narrow", "FILE", "--read", "x" * 20_000],
        ["narrow", "nowhere", "--read", "t"],
        ["show", "nowhere"],
        ["revoke"],
        ["revoke", TOKEN.text],
    ],
)
def test_refusals(arguments: list[str], file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [file if each == "FILE" else each for each in arguments]
    assert run(["token", *words, "--json"]) == 2
    said = failure(capsys)
    assert said["fix"] and TOKEN.text not in said["error"]


def test_a_broken_token_is_told_and_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "token"
    broken.write_text(TOKEN.text[:-4])
    assert run(["token", "show", str(broken), "--json"]) == 2
    assert TOKEN.text[5:20] not in str(failure(capsys))
