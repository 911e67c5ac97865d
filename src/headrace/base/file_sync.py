"""The sync of one file, as a job for a thread, or for a runner that syncs descriptors without one."""

import errno
import fcntl
import os
from collections.abc import Callable

from headrace.base.errors import DiskFailed

Job = Callable[[], None]
# Takes the failure, or None. Called on the loop.
Done = Callable[[BaseException | None], None]
Run = Callable[[list[Job], Done], None]

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
_NOT_OFFERED = (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY)


def full_sync(fd: int) -> None:
    """Syncs data and names to the disk itself: on macOS plain fsync would leave them in the drive's own cache."""
    if _FULL_SYNC is None:
        os.fsync(fd)
        return
    try:
        fcntl.fcntl(fd, _FULL_SYNC)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        # The file system has no full sync: as a rule it belongs to another machine.
        os.fsync(fd)


data_sync: Callable[[int], None] = full_sync if _FULL_SYNC is not None else getattr(os, "fdatasync", os.fsync)


class FileSync:
    """A sync for one round: its creator keeps the descriptor open until then."""

    __slots__ = ("device", "fd", "path")

    def __init__(self, fd: int, device: int, path: str) -> None:
        self.fd = fd
        self.device = device
        self.path = path

    def __call__(self) -> None:
        try:
            data_sync(self.fd)
        except OSError as error:
            raise DiskFailed(f"{self.path}: {error.strerror}") from error
