"""A Python that has lost what only Linux has, and answers to the name of Darwin: the nearest to macOS that runs here.

    python darwin.py import LIBRARY… -- MODULE…     libraries as they are, then modules of ours on the other system
    python darwin.py serve …                        `headrace serve` there
    python darwin.py stop …                         any other command

Not covered: how macOS's own calls behave. Here they stand for Linux's: F_FULLFSYNC syncs, `sysctl` answers, and what was
called is counted in the file that DARWIN_CALLS names.
"""

import atexit
import builtins
import ctypes
import errno
import fcntl
import importlib
import io
import json
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from typing import Any

LINUX_ONLY = {
    os: "eventfd eventfd_read eventfd_write fdatasync memfd_create pidfd_open posix_fadvise posix_fallocate "
    "sched_getaffinity sched_setaffinity splice copy_file_range getrandom setns unshare getxattr setxattr "
    "prlimit getresuid setresuid sched_setscheduler",
    signal: "pidfd_send_signal SIGPOLL SIGPWR SIGRTMIN SIGRTMAX SIGSTKFLT sigtimedwait sigwaitinfo",
    time: "CLOCK_BOOTTIME CLOCK_TAI CLOCK_MONOTONIC_COARSE pthread_getcpuclockid",
    select: "epoll",
    errno: "EUCLEAN ENOTUNIQ ENONET EBADFD EREMCHG ELIBACC EISNAM EREMOTEIO ENOMEDIUM EMEDIUMTYPE EKEYEXPIRED",
    socket: "MSG_MORE MSG_NOSIGNAL MSG_CMSG_CLOEXEC SO_PEERCRED SO_BINDTODEVICE SO_MARK SO_PRIORITY SO_DOMAIN SO_PROTOCOL "
    "SO_INCOMING_CPU TCP_USER_TIMEOUT TCP_QUICKACK TCP_DEFER_ACCEPT TCP_CORK TCP_LINGER2 TCP_SYNCNT TCP_WINDOW_CLAMP "
    "SOCK_CLOEXEC SOCK_NONBLOCK AF_NETLINK AF_PACKET AF_VSOCK AF_ALG",
    platform: "freedesktop_os_release",
}
LINUX_ONLY_STARTS = {
    os: ("EFD_", "RWF_", "POSIX_FADV_", "SPLICE_", "CLONE_", "O_DIRECT", "O_TMPFILE", "O_PATH", "O_NOATIME")
}
LIBC = ("syncfs", "adjtimex", "mallopt", "syscall", "prctl")
HIDDEN = ("/proc/", "/sys/")
FULL_SYNC = 51
BOOT = "8C2D9B1E-0000-4000-8000-000000000001"
calls: Counter[str] = Counter()


def become_darwin() -> None:
    # Read while the interpreter still knows how it was built.
    sysconfig.get_config_vars()
    tempfile._O_TMPFILE_WORKS = False  # type: ignore[attr-defined]
    sys.platform = "darwin"
    platform.system = lambda: "Darwin"
    for module, names in LINUX_ONLY.items():
        starts = LINUX_ONLY_STARTS.get(module, ())
        for name in [*names.split(), *(each for each in dir(module) if starts and each.startswith(starts))]:
            if hasattr(module, name) and name != "O_DIRECTORY":
                delattr(module, name)
    _hide_files()
    _hide_libc()
    _offer_full_sync()
    _answer_sysctl()
    if path := os.environ.get("DARWIN_CALLS"):
        atexit.register(lambda: _write(path))


def _write(path: str) -> None:
    with open(path, "w") as file:
        json.dump(calls, file)


def _hide_files() -> None:
    """/proc and /sys."""

    def guarded(real: Any) -> Any:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if isinstance(path, str | os.PathLike) and f"{os.fspath(path)}/".startswith(HIDDEN):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            return real(path, *arguments, **named)

        return call

    for module, name in (
        (builtins, "open"),
        (io, "open"),
        (os, "open"),
        (os, "stat"),
        (os, "listdir"),
        (os, "scandir"),
    ):
        setattr(module, name, guarded(getattr(module, name)))


def _hide_libc() -> None:
    real = ctypes.CDLL.__getattr__

    def found(library: ctypes.CDLL, name: str) -> Any:
        if name in LIBC:
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return real(library, name)

    ctypes.CDLL.__getattr__ = found  # type: ignore[method-assign]


def _offer_full_sync() -> None:
    real = fcntl.fcntl

    def call(fd: Any, order: int, argument: Any = 0) -> Any:
        if order != FULL_SYNC:
            return real(fd, order, argument)
        calls["F_FULLFSYNC"] += 1
        os.fsync(fd)
        return 0

    fcntl.F_FULLFSYNC = FULL_SYNC  # type: ignore[attr-defined]
    fcntl.fcntl = call


def _answer_sysctl() -> None:
    real = subprocess.run

    def run(command: Any, *arguments: Any, **named: Any) -> Any:
        if command[:2] != ["sysctl", "-n"]:
            return real(command, *arguments, **named)
        calls["sysctl"] += 1
        return subprocess.CompletedProcess(command, 0, f"{BOOT}\n", "")

    subprocess.run = run


def main(words: list[str]) -> int:
    if words[0] == "import":
        end = words.index("--")
        for library in words[1:end]:
            importlib.import_module(library)
        become_darwin()
        for module in words[end + 1 :]:
            importlib.import_module(module)
        return 0
    # As installed libraries load theirs on any system.
    for library in ("asyncio", "apsw", "cramjam", "crc32c", "re2", "rich", "typer", "uvloop", "ssl", "multiprocessing"):
        importlib.import_module(library)
    become_darwin()
    if words[0] == "serve":
        from headrace.cli.run.serve import main as serve

        return serve(words[1:])
    from headrace.cli.app import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
