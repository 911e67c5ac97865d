"""The sync of one file, as a job for a thread, or for whoever can sync a descriptor without one."""

import os
from collections.abc import Callable

from headrace.base.errors import DiskFailed

Job = Callable[[], None]
# What went wrong, or None. Called on the loop.
Done = Callable[[BaseException | None], None]
Run = Callable[[list[Job], Done], None]

_datasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class FileSync:
    """For one round: whoever asked for it keeps the descriptor open until then."""

    __slots__ = ("device", "fd", "path")

    def __init__(self, fd: int, device: int, path: str) -> None:
        self.fd = fd
        self.device = device
        self.path = path

    def __call__(self) -> None:
        try:
            _datasync(self.fd)
        except OSError as error:
            raise DiskFailed(f"{self.path}: {error.strerror}") from error
