"""A file lock that only the end of its process releases: others of the same host see it die, at once.

The kernel drops a file lock when its holder is gone, however it went. So a process that can take the lock of a life
knows that it is over, without waiting for any lease to run out. A process that hangs still holds its lock: that is for
the lease.

A missing file says nothing: somebody who tidies up may have deleted it, and its process may be well. Others then go by
the lease; the process itself makes the file anew at its next renewal (`keep`). It appears with its lock held, so there
is no moment at which a life looks over that is not. Files of the dead stay until nobody can ask for them any more
(`sweep`): deleting one earlier would make others wait for its lease.
"""

import fcntl
import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from headrace.base.private_files import FILE_MODE


class ProcessLife:
    """The life of this process, from now until `end` or the end of the process."""

    def __init__(self, beside: Path) -> None:
        self.token = secrets.token_hex(8)
        self._path = _lock_path(beside, self.token)
        self._fd = _locked_file(self._path)

    def keep(self) -> None:
        """Makes the file anew if it was deleted. `OSError` if that cannot be done now: the lease holds meanwhile."""
        if not _is_at(self._fd, self._path):
            lost, self._fd = self._fd, _locked_file(self._path)
            os.close(lost)

    def end(self, is_forgotten: bool) -> None:
        """Releases the lock, and with `is_forgotten` deletes the file: no lease names it any more, so nobody will ask."""
        if is_forgotten:
            self._path.unlink(missing_ok=True)
        os.close(self._fd)


def is_over(beside: Path, token: str) -> bool:
    """Whether the process of a life has ended. False if nobody can say."""
    path = _lock_path(beside, token)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # A file that was deleted and made anew meanwhile is locked in its new place.
        return _is_at(fd, path)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def sweep(beside: Path, asked_for: Collection[str]) -> None:
    """Deletes the files of lives that are over and not in `asked_for`."""
    prefix = _lock_path(beside, "").name
    for path in beside.parent.iterdir():
        token = path.name.removeprefix(prefix)
        if path.name.startswith(prefix) and token not in asked_for and is_over(beside, token):
            path.unlink(missing_ok=True)


def _locked_file(path: Path) -> int:
    """Makes a file at `path` that is locked before it has that name, so nobody finds it unlocked."""
    while True:
        unnamed = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        fd = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            unnamed.rename(path)
        except FileNotFoundError:
            # Another process swept it in the moment before it was locked, as the leavings of a crash.
            os.close(fd)
        except BaseException:
            with suppress(OSError):
                unnamed.unlink(missing_ok=True)
            os.close(fd)
            raise
        else:
            return fd


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _lock_path(beside: Path, token: str) -> Path:
    return beside.with_name(f"{beside.name}.life-{token}")
