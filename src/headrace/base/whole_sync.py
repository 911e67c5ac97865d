"""One syncfs in the place of many fdatasyncs: the same proof for every file of a file system, by one journal commit.

Measured on ext4, files with one new record each: 45 files took 3.2 ms with eight threads and 0.5 ms so, 100 files 7.2 ms
and 3.4 ms. It writes everything that is dirty, other people's too, so it is for many files at a time when little is dirty,
and only where it is known to be a proof: ext4 and xfs, on a Linux that reports a write that failed (5.8), and all files on
one device.
"""

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path

from headrace.base.errors import DiskFailed

FILES_MIN = 12
DIRTY_BYTES_MAX = 32 << 20
_PROVEN = ("ext4", "xfs")
_REPORTS_ERRORS = (5, 8)
_MEMINFO_BYTES = 4096
_DIRTY = re.compile(rb"^(?:Dirty|Writeback): +(\d+) kB", re.MULTILINE)


class WholeSync:
    """Of the file system that holds `path`. The descriptor stays open: it remembers which errors it has reported."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.device = os.fstat(self._fd).st_dev
        self._meminfo = os.open("/proc/meminfo", os.O_RDONLY | os.O_CLOEXEC)
        self._syncfs: Callable[[int], int] = ctypes.CDLL(None, use_errno=True).syncfs

    def __del__(self) -> None:
        for fd in (self._fd, self._meminfo):
            os.close(fd)

    def is_quick(self) -> bool:
        found = _DIRTY.findall(os.pread(self._meminfo, _MEMINFO_BYTES, 0))
        return 1024 * sum(map(int, found)) < DIRTY_BYTES_MAX

    def run(self) -> None:
        if self._syncfs(self._fd):
            raise DiskFailed(f"{self._path}: {os.strerror(ctypes.get_errno())}")


def whole_sync_of(path: str) -> WholeSync | None:
    """None where it would prove nothing, or is not there."""
    try:
        if _linux_version() < _REPORTS_ERRORS or _file_system_of(path) not in _PROVEN:
            return None
        return WholeSync(path)
    except (OSError, AttributeError, ValueError):
        return None


def _linux_version() -> tuple[int, ...]:
    system = os.uname()
    return tuple(map(int, re.findall(r"\d+", system.release)[:2])) if system.sysname == "Linux" else (0,)


def _file_system_of(path: str) -> str:
    device = Path(path).stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, file_system = line.partition(" - ")
        if mount.split()[2] == wanted:
            return file_system.split()[0]
    return ""
