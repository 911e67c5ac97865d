"""A process that others of the same host can see die, at once: it holds a lock that only its end releases.

The kernel drops a file lock when its holder is gone, however it went. So whoever can take the lock of a life knows that
it is over, without waiting for any lease to run out. A process that hangs still holds its lock: that is for the lease.
"""

import fcntl
import os
import secrets
from pathlib import Path


class ProcessLife:
    """Ours, from now until `end` or the end of the process."""

    def __init__(self, beside: Path) -> None:
        self.token = secrets.token_hex(8)
        self._path = _lock_path(beside, self.token)
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def end(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def is_over(beside: Path, token: str) -> bool:
    path = _lock_path(beside, token)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        # Nobody will look for it again: a token is never used twice.
        path.unlink(missing_ok=True)
        return True
    finally:
        os.close(fd)


def _lock_path(beside: Path, token: str) -> Path:
    return beside.with_name(f"{beside.name}.life-{token}")
