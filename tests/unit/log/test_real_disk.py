"""The real disk, on real files."""

import errno
import os
from pathlib import Path

import pytest

from headrace.base import disk as disk_module
from headrace.base import file_sync
from headrace.base.disk import RealDisk
from headrace.base.errors import DiskFailed, DiskFull, UserError


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "file")


def failing_pwrite(code: int, after: int):
    """A pwrite that writes `after` bytes, and then fails."""
    written = 0

    def pwrite(fd: int, chunk: bytes, position: int) -> int:
        nonlocal written
        if written == after:
            raise OSError(code, os.strerror(code))
        part = chunk[: after - written]
        written += len(part)
        return REAL_PWRITE(fd, part, position)

    return pwrite


REAL_PWRITE = os.pwrite


def test_append_and_read(path: str) -> None:
    file = RealDisk().open(path, create=True)
    file.append(b"one")
    file.append(memoryview(bytearray(b"two")))
    assert file.size == 6
    assert file.pread(4, 1) == b"netw"
    assert file.pread(10, 4) == b"wo"
    file.truncate(4)
    file.append(b"!")
    assert RealDisk().read(path) == b"onet!"
    file.sync_job()()
    file.close()
    again = RealDisk().open(path)
    assert again.size == 5
    again.close()


def test_a_short_write_goes_on(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_module.os, "pwrite", lambda fd, chunk, at: REAL_PWRITE(fd, chunk[:3], at))
    file = RealDisk().open(path, create=True)
    file.append(b"0123456789")
    assert (file.size, file.pread(20, 0)) == (10, b"0123456789")
    file.close()


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, DiskFailed)]
)
def test_a_failed_append_is_cut_back(path: str, monkeypatch: pytest.MonkeyPatch, code: int, kind: type) -> None:
    file = RealDisk().open(path, create=True)
    file.append(b"kept")
    monkeypatch.setattr(disk_module.os, "pwrite", failing_pwrite(code, after=2))
    with pytest.raises(kind, match="file"):
        file.append(b"lost")
    assert file.size == 4
    assert RealDisk().read(path) == b"kept"
    file.close()


def test_a_failed_sync_is_a_failed_disk(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    file = RealDisk().open(path, create=True)
    monkeypatch.setattr(file_sync, "data_sync", fail)
    with pytest.raises(DiskFailed):
        file.sync_job()()
    file.close()


def test_a_pinned_file_closes_with_its_last_pin(path: str) -> None:
    file = RealDisk().open(path, create=True)
    file.append(b"x")
    file.pin()
    file.pin()
    file.close()
    file.unpin()
    assert file.pread(1, 0) == b"x"
    file.unpin()
    with pytest.raises(DiskFailed):
        file.pread(1, 0)
    with pytest.raises(AssertionError):
        file.unpin()


def test_a_file_that_is_not_there_is_not_a_failed_disk(path: str) -> None:
    with pytest.raises(FileNotFoundError):
        RealDisk().open(path)
    with pytest.raises(FileNotFoundError):
        RealDisk().read(path)
    RealDisk().unlink(path)
    RealDisk().remove_tree(path)


def test_write_atomic_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = str(tmp_path / "checkpoint")
    RealDisk().write_atomic(target, b"old")
    RealDisk().write_atomic(target, b"new")
    assert RealDisk().read(target) == b"new"
    assert RealDisk().listdir(str(tmp_path)) == ["checkpoint"]


def test_directories(tmp_path: Path) -> None:
    disk = RealDisk()
    made = f"{tmp_path}/a/b"
    disk.mkdir(made)
    disk.mkdir(made)
    disk.open(f"{made}/one", create=True).close()
    disk.rename(f"{made}/one", f"{made}/two")
    disk.sync_dir_job(made)()
    assert disk.exists(f"{made}/two")
    assert disk.size(f"{made}/two") == 0
    assert disk.free_bytes(made) > 0
    disk.remove_tree(f"{tmp_path}/a")
    assert not disk.exists(made)
    disk.sync_dir_job(made)()


def test_a_lock_is_held_by_one_and_names_its_holder(tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")
    release = RealDisk().lock(lock)
    with pytest.raises(UserError, match=f"pid {os.getpid()}"):
        RealDisk().lock(lock)
    release()
    RealDisk().lock(lock)()


def test_a_rewrite_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    disk = RealDisk()
    file = disk.open(f"{tmp_path}/log", create=True)
    content = os.urandom((1 << 20) + 77)
    file.append(content)
    file.rewrite(5)
    assert disk.read(f"{tmp_path}/log") == content
    file.close()
