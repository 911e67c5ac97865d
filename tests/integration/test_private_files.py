"""Every file below a data directory, a store and a backup belongs to its owner alone, whatever the umask says."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.base.private_files import make_directory, touch_new
from headrace.testing import Broker


@pytest.fixture
def generous() -> Iterator[None]:
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def open_to_others(root: Path) -> list[str]:
    paths = [root, *root.rglob("*")]
    return [str(path) for path in paths if stat.S_IMODE(path.lstat().st_mode) & 0o077 and not path.is_socket()]


def test_data_metadata_and_backups(generous: None, tmp_path: Path, run_at) -> None:
    with Broker(data=tmp_path / "data" / "below") as broker:
        run = run_at(broker.bootstrap)
        assert run("topic", "create", "orders", "--partitions", "2")[0] == 0
        assert run("backup", "create", str(tmp_path / "backup" / "below"))[0] == 0
        broker.stop()
        broker.start()
        assert open_to_others(tmp_path / "data") == []
    assert open_to_others(tmp_path / "data") == open_to_others(tmp_path / "backup") == []


@pytest.fixture
def run_at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from headrace.cli import app

    def at(bootstrap: str):
        monkeypatch.setenv("HEADRACE_BOOTSTRAP", bootstrap)
        return lambda *words: (app.run(words), capsys.readouterr())

    return at


def test_what_is_there_keeps_its_mode(generous: None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    touch_new(path)
    make_directory(tmp_path)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("x", 0o666)
    make_directory(tmp_path / "a" / "b")
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [0o700, 0o700]
