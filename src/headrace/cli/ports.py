"""The holder of a TCP port of this machine: nobody, a broker that speaks Kafka, or another program."""

import contextlib
import errno
import random
import socket
import struct
from pathlib import Path
from typing import NamedTuple

ASK_SECONDS = 1.0
_LISTEN = "0A"
# ApiVersions v0: length, api key 18, version 0, correlation id 7, no client id.
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


class Holder(NamedTuple):
    port: int
    speaks_kafka: bool
    pid: int | None
    name: str

    def __str__(self) -> str:
        what = "a Kafka broker" if self.speaks_kafka else "another program"
        return f"{what} ({self.name}, pid {self.pid})" if self.pid else what


def is_free(host: str, port: int) -> bool:
    """Whether we could listen there. Raises OSError when that is not ours to do at all (a port below 1024)."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def port_holder(host: str, port: int) -> Holder | None:
    if is_free(host, port):
        return None
    pid = listening_pid(port)
    return Holder(port, speaks_kafka(host, port), pid, _process_name(pid))


def free_port(host: str) -> int:
    """A port that stays free while its broker restarts: below the range that outgoing connections are given.

    Inside it, a client that keeps calling a stopped broker on loopback can end up connected to itself and hold it.
    """
    low, high = 15_000, min(_ephemeral_low(), 32_768)
    for port in random.SystemRandom().sample(range(low, high), k=100):
        with contextlib.suppress(OSError):
            if is_free(host, port):
                return port
    raise OSError(errno.EADDRINUSE, f"no free port between {low} and {high}")


def _ephemeral_low() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32_768


def speaks_kafka(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=ASK_SECONDS) as connection:
            connection.sendall(_API_VERSIONS)
            reply = connection.recv(8, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(reply) == 8 and reply[4:] == struct.pack(">i", 7)


def listening_pid(port: int) -> int | None:
    """None where the owner is another user's process, or on a system without /proc."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(descriptor.readlink()) in inodes for descriptor in (process / "fd").iterdir()):
                return int(process.name)
        except OSError:
            continue
    return None


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for columns in map(str.split, lines):
            if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                inodes.add(columns[9])
    return inodes - {"0"}


def _process_name(pid: int | None) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "unknown"
