"""The CPU time and memory that this process uses."""

import os
import resource
import sys
from pathlib import Path

_RESIDENT = 1
"""The place of resident pages in statm."""


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def max_resident_bytes() -> int:
    # Kilobytes; on macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def resident_bytes() -> int:
    try:
        pages = Path("/proc/self/statm").read_text().split()[_RESIDENT]
    except OSError:
        return max_resident_bytes()
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
