"""The holder of a TCP port of this machine: nobody, a broker that speaks Kafka, or another program."""

import contextlib
import errno
import os
import random
import socket
import struct
import sys
from pathlib import Path
from typing import NamedTuple

PORT_SECONDS = 1.0
_GIVEN = range(15_000, 32_768)
# By port, the descriptor of a bound socket.
_held: dict[int, int] = {}
_LISTEN = "0A"
# ApiVersions v0: length, api key 18, version 0, correlation id 7, no client id.
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


class PortHolder(NamedTuple):
    port: int
    speaks_kafka: bool
    pid: int | None
    name: str

    def __str__(self) -> str:
        what = "a Kafka broker" if self.speaks_kafka else "another program"
        return f"{what} ({self.name}, pid {self.pid})" if self.pid else what


def is_free(host: str, port: int) -> bool:
    """Whether we could listen there. Raises OSError when that is not ours to do at all (a port below 1024)."""
    with socket.socket(_family(host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def port_holder(host: str, port: int) -> PortHolder | None:
    if is_free(host, port):
        return None
    pid = listening_pid(port)
    return PortHolder(port, speaks_kafka(host, port), pid, _process_name(pid))


def free_port(host: str, count: int = 1) -> int:
    """The first of `count` free ports in a row, which no other call on this machine gives until this process ends.

    They lie below the range that outgoing connections are given: inside it, a client that keeps calling a stopped broker
    on loopback can end up connected to itself and hold the port.
    """
    for first in random.SystemRandom().sample(_GIVEN, k=100):
        with contextlib.suppress(OSError), contextlib.ExitStack() as bound:
            found = {port: bound.enter_context(_bound_alone(host, port)) for port in range(first, first + count)}
            if sys.platform == "linux":
                _held.update({port: each.detach() for port, each in found.items()})
            return first
    raise OSError(errno.EADDRINUSE, f"no {count} free ports in a row between {_GIVEN[0]} and {_GIVEN[-1]}")


def give_back(*ports: int) -> None:
    """Another call may be given them."""
    for port in ports:
        if port in _held:
            os.close(_held.pop(port))


def _bound_alone(host: str, port: int) -> socket.socket:
    """A socket that never listens: bound where no other socket is, and from then on in nobody's way who listens there.

    Elsewhere than on Linux it would be.
    """
    alone = socket.socket(_family(host))
    try:
        alone.bind((host, port))
        alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError:
        alone.close()
        raise
    return alone


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def speaks_kafka(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=PORT_SECONDS) as connection:
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
