"""Time enters the cores as an argument: `Now` carries both clocks, so nobody mixes them up.

`mono` (seconds) is for timers and deadlines and never jumps; `wall` (ms since 1970) is for stamps that are stored.
"""

import time
from pathlib import Path
from typing import NamedTuple, Protocol


class Now(NamedTuple):
    mono: float
    wall: int


class Clock(Protocol):
    def now(self) -> Now: ...

    def mono(self) -> float:
        """That of `now` alone, at a quarter of its cost: for what is only measured."""
        ...

    def boot_id(self) -> str:
        """Names this run of the kernel: another one means that nothing unsynced survived in the page cache."""


class SystemClock:
    """CLOCK_BOOTTIME goes on while the machine sleeps, so a lease that ran out meanwhile is seen to have run out."""

    def now(self) -> Now:
        return Now(time.clock_gettime(time.CLOCK_BOOTTIME), time.time_ns() // 1_000_000)

    def mono(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return ""
