"""CPU seconds and memory of a process and all its descendants, and the CPU the rest of the machine takes, from /proc.

Invariant: a child that has ended is counted once, through its parent's figures for reaped children.
"""

import os
import time
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_KTHREADD = 2
_PPID, _UTIME, _CSTIME = 1, 11, 14  # positions after the command name, which may itself hold spaces and brackets


def tree(pid: int) -> list[int]:
    """The process and its living descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[_PPID]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found.extend(children.get(parent, []))
    return found


def cpu_seconds(pids: list[int]) -> float:
    """User and system time of these process trees so far."""
    ticks = 0
    for pid in _all(pids):
        if fields := _stat(pid):
            ticks += sum(int(value) for value in fields[_UTIME : _CSTIME + 1])
    return ticks / _TICKS_PER_SECOND


def running_seconds(pids: list[int]) -> float:
    """As `cpu_seconds`, of the threads that live, by the nanosecond: for turns so short that a tick of 10 ms would show."""
    return sum(_ran_ns(pid) for pid in _all(pids)) / 1e9


def rss_mb(pids: list[int]) -> float:
    """Resident memory of these process trees now."""
    return sum(_status_mb(pid, "VmRSS:") for pid in _all(pids))


def peak_rss_mb(pids: list[int]) -> float:
    """The sum of each living process's own peak: an upper bound of the tree's peak."""
    return sum(_status_mb(pid, "VmHWM:") for pid in _all(pids))


class OtherWork:
    """The share of the machine's CPU that went to processes outside the bench since this was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._others = _others_cpu_seconds()

    def share(self) -> float:
        capacity = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        return max(0.0, _others_cpu_seconds() - self._others) / capacity


def _others_cpu_seconds() -> float:
    """What a hypervisor took away counts as others' too. The kernel's own threads do not: they sync and send for us."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICKS_PER_SECOND - cpu_seconds([os.getpid(), *_kernel()])


def _kernel() -> list[int]:
    """The parent of all kernel threads; a container does not show it, nor count them."""
    name = Path(f"/proc/{_KTHREADD}/comm")
    return [_KTHREADD] if name.exists() and name.read_text().strip() == "kthreadd" else []


def _all(pids: list[int]) -> set[int]:
    return {member for pid in pids for member in tree(pid)}


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def _ran_ns(pid: int) -> int:
    try:
        return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _status_mb(pid: int, field: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field)), 0.0)
