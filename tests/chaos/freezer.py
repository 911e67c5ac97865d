"""The kernel's freezer: every thread of a process stands still at once, as under `docker pause` or a laptop's sleep.

Unlike SIGSTOP it shows in no state of the process, and nobody can wake it with SIGCONT. Needs root and cgroup v2. A group
of ours is made for the time it lasts, and the process goes back to where it was.
"""

import errno
import os
from pathlib import Path

from eventually import until

FREEZE_SECONDS = 10.0


def has_freezer() -> bool:
    return os.geteuid() == 0 and _root() is not None


class Freezer:
    def __init__(self, pid: int) -> None:
        root = _root()
        assert root is not None, "no cgroup v2 here"
        self._pid = pid
        self._before = root / _group_of(pid).lstrip("/")
        self._group = root / f"headrace-chaos-{os.getpid()}-{pid}"

    def freeze(self) -> None:
        self._group.mkdir()
        (self._group / "cgroup.procs").write_text(str(self._pid))
        self._order("1")

    def thaw(self) -> None:
        """Also of one that was killed meanwhile."""
        self._order("0")
        for pid in (self._group / "cgroup.procs").read_text().split():
            (self._before / "cgroup.procs").write_text(pid)
        # A process that was killed counts as being in its group for as long as it takes to die.
        until(self._remove, seconds=FREEZE_SECONDS, otherwise="the group is not empty")

    def _remove(self) -> bool:
        try:
            self._group.rmdir()
        except OSError as busy:
            if busy.errno != errno.EBUSY:
                raise
            return False
        return True

    def _order(self, frozen: str) -> None:
        (self._group / "cgroup.freeze").write_text(frozen)
        until((self._group / "cgroup.events").read_text, lambda said: f"frozen {frozen}" in said, FREEZE_SECONDS)


def _root() -> Path | None:
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next((Path(place) for _, place, kind, *_ in mounts if kind == "cgroup2"), None)


def _group_of(pid: int) -> str:
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
