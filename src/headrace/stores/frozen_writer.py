"""Ends a process that was stopped (SIGSTOP) or frozen (`docker pause`) while it writes to a SQLite file of ours, since
all others wait for its lock.

A writer that is alive gives the lock back within moments. One that is stopped keeps it until it is woken, and meanwhile
nobody of the host can renew a lease or take over. It is killed as soon as it has been seen stopped for `FROZEN_S`,
though nobody wants the lock yet: waiting for its lease to run out before looking would lose that time too. A
transaction that was cut off leaves no trace. A process that runs, however slowly, or that a debugger holds, is left
alone.

The kernel's list of locks tells which process it is. Asking by fcntl would need a second descriptor of the file, and
closing that would drop our own locks. Where there is no such list (not Linux) nothing is done.
"""

import logging
import os
import signal
from pathlib import Path
from typing import Final

from headrace.stores.frozen_groups import is_frozen, let_die

FROZEN_S: Final = 1.0
LOOK_S: Final = 0.1
LATE_S: Final = 1.0
"""Looks further apart: we stood still ourselves, and so may all others have, who are not awake yet."""

# Bytes of the shared-memory file: a writer locks the first, one that folds the log in the second, recovery the third.
_EXCLUSIVE: Final = range(120, 123)

logger = logging.getLogger("headrace.store")


class FrozenWriter:
    """Ends the frozen writer of one file, if there is one. Call `look` often: it looks every `LOOK_S`."""

    def __init__(self, database: Path) -> None:
        self._shared_memory = database.with_name(f"{database.name}-shm")
        self._suspect: int | None = None
        self._since = 0.0
        self._looked = -LATE_S

    def look(self, mono: float) -> None:
        pause = mono - self._looked
        if pause < LOOK_S:
            return
        self._looked = mono
        writer = self._stopped_writer()
        if writer is None or writer != self._suspect or pause > LATE_S:
            self._suspect, self._since = writer, mono
        elif mono - self._since >= FROZEN_S:
            self._end(writer)
            # A writer that cannot be ended is tried again, and named again, as seldom.
            self._since = mono

    def _stopped_writer(self) -> int | None:
        try:
            file = self._shared_memory.stat()
            locks = Path("/proc/locks").read_text()
        except OSError:
            return None
        return next((pid for pid in writers(locks, file) if is_stopped(pid)), None)

    def _end(self, writer: int) -> None:
        try:
            handle = os.pidfd_open(writer)
        except OSError:
            return
        try:
            # Only now does the pid stand for one process: it may have ended, and another may have got its pid.
            if self._stopped_writer() != writer:
                return
            logger.warning(
                "process %(pid)d was stopped while it holds the lock of %(path)s: ended",
                {"pid": writer, "path": self._shared_memory},
            )
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            let_die(writer)
        except OSError as error:
            # The process is gone by itself, or another user's.
            if is_stopped(writer):
                logger.warning(
                    "process %(pid)d cannot be ended (%(cause)s): unpause or kill it, all brokers wait for it",
                    {"pid": writer, "cause": error},
                )
        finally:
            os.close(handle)


def writers(locks: str, file: os.stat_result) -> list[int]:
    """The processes that hold a write lock on this shared-memory file, from the text of /proc/locks."""
    name = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    return [int(row[4]) for row in map(str.split, locks.splitlines()) if _is_writer(row, name)]


def _is_writer(row: list[str], name: str) -> bool:
    # 1: POSIX ADVISORY WRITE 4711 fe:00:9986652 120 120; one that waits for it has an arrow behind its number.
    return row[1:4:2] == ["POSIX", "WRITE"] and row[5] == name and int(row[6]) in _EXCLUSIVE


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped by SIGSTOP or frozen by its cgroup; not one that a debugger holds."""
    return _has_stopped(pid) or is_frozen(pid)


def _has_stopped(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    # 4711 (a name with ) and blanks) T 1 …
    return stat.rpartition(")")[2].split()[0] == "T"
