"""What the figures were measured on and with: they mean nothing without it."""

import os
import platform
import re
import subprocess
from pathlib import Path


def described(data: Path) -> dict[str, str]:
    return {
        "cpu": _field("/proc/cpuinfo", r"model name\s*:\s*(.+)"),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
        "kernel": platform.release(),
        "filesystem": _words(["findmnt", "-n", "-o", "FSTYPE", "-T", str(_existing(data))]),
        "python": platform.python_version(),
        "java": _field_of(_words(["java", "-version"]), r'"(.+?)"'),
        "librdkafka": _words(["pkg-config", "--modversion", "rdkafka"]),
        "commit": _words(["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]),
    }


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _field(path: str, pattern: str) -> str:
    return _field_of(Path(path).read_text(), pattern)


def _field_of(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else "unknown"


def _words(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown"
    return (done.stdout or done.stderr).strip() if done.returncode == 0 else "unknown"
