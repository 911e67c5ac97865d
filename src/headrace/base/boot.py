"""The kernel's boot id: as long as it is the same, the page cache and CLOCK_BOOTTIME are the ones we knew."""

from pathlib import Path


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
