"""The clock of this machine. Tests and the simulator have clocks of their own."""

import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from headrace.base.clock import Now

BOOT_ID_SECONDS_MAX = 5.0
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
