"""The fitness of this machine for a broker: libraries, descriptors, clock, disk. Looks, measures, changes nothing."""

import ctypes
import os
import platform
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from headrace.base.file_sync import data_sync
from headrace.base.units import size_text
from headrace.cli.doctor.findings import Finding, fail, ok, warn
from headrace.cli.run.preflight import DESCRIPTORS_WANTED, NEARLY_FULL_BYTES, NEARLY_FULL_SHARE
from headrace.cli.version import library_versions

PYTHON_WANTED = (3, 11)
SQLITE_WANTED = (3, 51, 3)
SYNCS = 20
SYNC_SLOW_MS = 20.0
BULK_BYTES = 16 << 20
CLOCK_UNSYNCHRONISED = 5
_VOLATILE = {"tmpfs", "ramfs"}
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"}


def check_software() -> Iterator[Finding]:
    wanted = ".".join(map(str, PYTHON_WANTED))
    if sys.version_info < PYTHON_WANTED:
        yield fail("python", f"Python {platform.python_version()} is too old", f"install Python {wanted} or newer")
    else:
        yield ok("python", f"Python {platform.python_version()}, {platform.system()} {platform.release()}")
    if platform.system() != "Linux":
        fix = "run brokers that matter on Linux: docs/deploy.md, Other systems"
        yield warn("system", f"{platform.system()}: brokers run, by slower ways where Linux has better ones", fix)
    versions = library_versions()
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        yield fail("libraries", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    else:
        yield ok("libraries", ", ".join(f"{name} {version}" for name, version in versions.items()))
    if versions["apsw"]:
        yield _sqlite()


def _sqlite() -> Finding:
    import apsw

    version = apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) < SQLITE_WANTED:
        fix = "pip install --upgrade apsw: older SQLite can lose metadata when several brokers write"
        return fail("sqlite", f"SQLite {version} is too old", fix)
    return ok("sqlite", f"SQLite {version}")


def check_descriptors() -> Finding:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return ok("descriptors", "no limit")
    if hard < DESCRIPTORS_WANTED:
        fix = (
            f"raise the hard limit (nofile in limits.conf, LimitNOFILE of the service) to {DESCRIPTORS_WANTED} or more"
        )
        return warn("descriptors", f"{hard} per process: each connection and open segment takes one", fix)
    return ok("descriptors", f"{hard} per process")


def check_clock() -> Iterator[Finding]:
    synchronised = _clock_synchronised()
    if synchronised is False:
        fix = "start a time service (chrony, systemd-timesyncd): message timestamps come from this clock"
        yield warn("clock", f"{time.strftime('%Y-%m-%d %H:%M:%S %Z')}, not synchronised", fix)
    else:
        yield ok("clock", time.strftime("%Y-%m-%d %H:%M:%S %Z") + (", synchronised" if synchronised else ""))


def _clock_synchronised() -> bool | None:
    """The kernel's own word (adjtimex, asking only); None where it is not to be had."""
    try:
        # A zeroed struct timex (208 bytes on 64-bit Linux) changes nothing: its first field names what to change.
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != CLOCK_UNSYNCHRONISED


def check_disk(data: Path) -> Iterator[Finding]:
    place = next(path for path in (data.resolve(), *data.resolve().parents) if path.is_dir())
    usage = shutil.disk_usage(place)
    floor = max(NEARLY_FULL_BYTES, int(usage.total * NEARLY_FULL_SHARE))
    text = f"{size_text(usage.free)} of {size_text(usage.total)} free for {data}"
    if usage.free < floor:
        fix = f"free some space: brokers refuse writes below {size_text(floor)}"
        yield fail("disk space", text, fix)
    elif usage.free < usage.total // 10:
        yield warn("disk space", text, "plan for more, or shorten retention.ms and retention.bytes of large topics")
    else:
        yield ok("disk space", text)
    yield from _file_system(place)
    if usage.free > 2 * BULK_BYTES and os.access(place, os.W_OK):
        yield _sync_speed(place)


def _file_system(place: Path) -> Iterator[Finding]:
    kind = _mount_type(place)
    if kind in _VOLATILE:
        yield warn("file system", f"{kind}: the data is gone when the machine restarts", "choose a directory on a disk")
    elif kind in _REMOTE:
        yield fail("file system", f"{kind}: locks and syncs over a network cannot be trusted", "choose a local disk")
    elif kind:
        yield ok("file system", kind)


def _mount_type(place: Path) -> str:
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    above = [mount for mount in mounts if place.is_relative_to(mount[1])]
    return max(above, key=lambda mount: len(mount[1]))[2] if above else ""


def _sync_speed(place: Path) -> Finding:
    """The time of a small synced write, which an ack waits for, and the rate of a large one."""
    with tempfile.TemporaryFile(dir=place, buffering=0) as file:
        waits = sorted(_synced_write_ms(file.fileno(), 4096) for _ in range(SYNCS))
        bulk = BULK_BYTES / (_synced_write_ms(file.fileno(), BULK_BYTES) / 1000)
    middle, worst = statistics.median(waits), waits[-1]
    text = f"a synced write takes {middle:.1f} ms (worst {worst:.1f}), bulk {size_text(bulk)}/s"
    if middle > SYNC_SLOW_MS:
        fix = "use a faster disk, or relax flush.messages on topics that may lose their last messages at power loss"
        return warn("disk sync", text, fix)
    return ok("disk sync", text)


def _synced_write_ms(fd: int, size: int) -> float:
    chunk = os.urandom(4096) * (size // 4096)
    started = time.perf_counter()
    os.write(fd, chunk)
    data_sync(fd)
    return (time.perf_counter() - started) * 1000
