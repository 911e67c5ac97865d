"""A crowd of connections that never get anywhere, and what they cost the broker that they came to."""

import re
import resource
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

MANY = 10_000
# What the test process and the broker each need besides the crowd's.
SPARE_DESCRIPTORS = 1_500


@contextmanager
def crowd(host: str, port: int, beginnings: Sequence[bytes]) -> Iterator[int]:
    """Opens ten thousand connections, each of which sends the next beginning and no more; how many they are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(MANY, hard - SPARE_DESCRIPTORS)
    try:
        with ExitStack() as stack:
            for number in range(count):
                each = stack.enter_context(socket.create_connection((host, port), 60))
                each.sendall(beginnings[number % len(beginnings)])
            yield count
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def resident_bytes(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024
