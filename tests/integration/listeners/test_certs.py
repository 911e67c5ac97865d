"""`headrace certs`: what it makes is good for TLS on both sides, for its owner's eyes only; and what it shows."""

import json
import ssl
import stat
from pathlib import Path

import pytest
from tls_world import HOST, SecureBroker

from headrace.cli.app import run


def made(folder: Path, *options: str) -> None:
    assert run(["certs", "create", str(folder), *options]) == 0


def shown(capsys: pytest.CaptureFixture[str], what: str) -> list[dict]:
    capsys.readouterr()
    assert run(["certs", "show", what, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_is_made(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "new" / "certs"
    options = ["--host", "queue.example.com", "--host", "::1", "--broker", "b1", "--broker", "b2", "--client", "app"]
    made(folder, *options, "--days", "30")
    assert sorted(each.name for each in folder.iterdir()) == ["app.pem", "b1.pem", "b2.pem", "ca.key", "ca.pem"]
    for name in ("app.pem", "b1.pem", "ca.key"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    (broker,) = shown(capsys, str(folder / "b1.pem"))
    assert (broker["subject"], broker["issuer"]) == ("CN=b1", "CN=Headrace test authority")
    assert broker["names"] == ["queue.example.com", "::1"]
    assert broker["days_left"] in (29, 30)
    (client,) = shown(capsys, str(folder / "app.pem"))
    assert (client["subject"], client["names"]) == ("CN=app", [])


def test_an_authority_that_is_there_signs_what_is_made_later(tmp_path: Path) -> None:
    made(tmp_path)
    before = (tmp_path / "ca.pem").read_bytes(), (tmp_path / "broker.pem").read_bytes()
    made(tmp_path, "--client", "late")
    after = (tmp_path / "ca.pem").read_bytes(), (tmp_path / "broker.pem").read_bytes()
    assert before[0] == after[0]
    assert before[1] != after[1]
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.load_cert_chain(tmp_path / "late.pem")


def test_half_an_authority_is_told(tmp_path: Path, capsys) -> None:
    made(tmp_path)
    (tmp_path / "ca.key").unlink()
    assert run(["certs", "create", str(tmp_path)]) == 1
    assert "has only one of ca.pem and ca.key" in capsys.readouterr().err


def test_the_certificate_of_a_listener(secure: SecureBroker, capsys) -> None:
    (certificate,) = shown(capsys, secure.bootstrap)
    assert certificate["subject"] == "CN=broker"
    assert HOST in certificate["names"]


@pytest.mark.parametrize("what", ["/nowhere.pem", "127.0.0.1:1", __file__])
def test_what_has_no_certificate(what: str, capsys) -> None:
    assert run(["certs", "show", what]) == 1
    assert "error: " in capsys.readouterr().err
