"""Certificates that `headrace up --secure` makes: kept while they are good, made anew near their end or with it all."""

from pathlib import Path

import pytest

from headrace.cli.security.certificates import read_file
from headrace.cli.up import secure
from headrace.cli.up.secure import SecureUp


def started(data: Path) -> Path:
    """What one start leaves: broker 1's certificate."""
    up = SecureUp(data, "127.0.0.1")
    up.prepare("127.0.0.1:9092", {})
    return Path(up.settings_of(1, 9092)["ssl.keystore.location"])


def test_kept_while_they_are_good(tmp_path: Path) -> None:
    path = started(tmp_path)
    before = path.read_bytes()
    assert started(tmp_path).read_bytes() == before
    (shown,) = read_file(path)
    assert (shown.subject, shown.names) == ("CN=headrace-broker", ("127.0.0.1", "localhost", "::1"))


def test_made_anew_near_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = started(tmp_path).read_bytes()
    monkeypatch.setattr(secure, "RENEWED_DAYS", secure.CERTIFICATE_DAYS + 1)
    assert started(tmp_path).read_bytes() != before


def test_made_anew_with_the_authority(tmp_path: Path) -> None:
    before = started(tmp_path).read_bytes()
    for name in ("ca.pem", "ca.key"):
        (tmp_path / "secure" / name).unlink()
    assert started(tmp_path).read_bytes() != before


def test_the_brokers_are_a_super_user_by_that_name(tmp_path: Path) -> None:
    up = SecureUp(tmp_path, "127.0.0.1")
    up.prepare("127.0.0.1:9092", {})
    settings = up.settings_of(1, 9092)
    (shown,) = read_file(Path(settings["ssl.keystore.location"]))
    assert f"User:{shown.subject}" in settings["super.users"].split(";")
