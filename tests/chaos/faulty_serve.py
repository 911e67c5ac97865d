"""`headrace serve` on a disk that misbehaves when it is told to: started by tests in its place, known to no other code.

    python faulty_serve.py ORDERS ARGUMENTS…

ORDERS is a file that the test writes while the broker runs, read before every system call that it may concern:

    {"write_errno": 5}      a write fails            {"write_share": 0.5}    a write takes only a part of what it is given
    {"sync_errno": 5}       a sync fails             {"sync_seconds": 0.5}   a sync takes long
    {"sync_hangs": 1}       no sync comes back before this order is taken back
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from headrace.broker.disk.syncs import ThreadsOnly
from headrace.cli.run.serve import main

HUNG_LOOK_SECONDS = 0.05


class FaultyCalls:
    """Stands for the `os` module in `headrace.base.disk`, so that errors come from where a kernel's would."""

    def __init__(self, orders: Path) -> None:
        self._orders = orders

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def pwrite(self, fd: int, chunk: Any, position: int) -> int:
        orders = self._read()
        _fail(orders.get("write_errno"))
        view = memoryview(chunk)
        wanted = max(1, int(len(view) * orders.get("write_share", 1)))
        return os.pwrite(fd, view[:wanted], position)

    def fsync(self, fd: int) -> None:
        self._before_sync()
        os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        self._before_sync()
        os.fdatasync(fd)

    def _before_sync(self) -> None:
        orders = self._read()
        time.sleep(orders.get("sync_seconds", 0))
        while self._read().get("sync_hangs"):
            time.sleep(HUNG_LOOK_SECONDS)
        _fail(orders.get("sync_errno"))

    def _read(self) -> dict[str, Any]:
        try:
            orders: dict[str, Any] = json.loads(self._orders.read_bytes())
        except FileNotFoundError:
            return {}
        return orders


def _fail(number: int | None) -> None:
    if number is not None:
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    calls = FaultyCalls(Path(sys.argv[1]))
    patch("headrace.base.disk.os", calls).start()
    patch("headrace.base.file_sync.data_sync", calls.fdatasync).start()
    patch("headrace.base.disk.full_sync", calls.fsync).start()
    # The kernel's workers and the process for whole file systems take no orders of ours: threads do.
    patch("headrace.cli.run.compose.RealSyncs", ThreadsOnly).start()
    sys.exit(main(sys.argv[2:]))
