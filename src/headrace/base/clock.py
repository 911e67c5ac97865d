"""Time enters the cores as an argument: `Now` carries both clocks, so nobody mixes them up.

`mono` (seconds) is for timers and deadlines and never jumps; `wall` (ms since 1970) is for stamps that are stored.
"""

import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

BOOT_ID_SECONDS_MAX = 5.0


class Now(NamedTuple):
    mono: float
    wall: int


class Clock(Protocol):
    def now(self) -> Now: ...

    def mono(self) -> float:
        """The monotonic clock of `now` alone, at a quarter of its cost: for durations that are only measured."""
        ...

    def boot_id(self) -> str:
        """The name of this run of the kernel; another one means that nothing unsynced survived in the page cache.

        Empty if nobody can say, which must count as another one.
        """


# Goes on while the machine sleeps, so a lease that ran out meanwhile is seen. On macOS that is CLOCK_MONOTONIC.
_SLEEPLESS: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    def now(self) -> Now:
        return Now(time.clock_gettime(_SLEEPLESS), time.time_ns() // 1_000_000)

    def mono(self) -> float:
        return time.clock_gettime(_SLEEPLESS)

    def boot_id(self) -> str:
        return _boot_id()


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        pass
    # macOS.
    asked = ["sysctl", "-n", "kern.bootsessionuuid"]
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=BOOT_ID_SECONDS_MAX, check=True)
        return answer.stdout.strip()
    return ""
