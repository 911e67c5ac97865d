"""The report of a broker process to its supervisor over a pipe: one JSON line when it serves, one when it failed.

The pipe closes with the process, however it ends: that is how a supervisor learns of a death without polling.
"""

import json
import os
from typing import NamedTuple

READY, FAILED = "ready", "failed"


class ReadyStatus(NamedTuple):
    id: int
    host: str
    port: int
    metrics_port: int
    pid: int


class Failed(NamedTuple):
    error: str
    fix: str


class StatusPipe:
    """The broker's end. Without a descriptor it says nothing; a supervisor that has gone is no reason to fail."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        if fd >= 0:
            # Children of the broker (compaction, recovery) would keep it open beyond the broker's death.
            os.set_inheritable(fd, False)

    def tell(self, status: ReadyStatus | Failed) -> None:
        if self.fd < 0:
            return
        word = READY if isinstance(status, ReadyStatus) else FAILED
        line = json.dumps({"status": word, **status._asdict()}) + "\n"
        try:
            os.write(self.fd, line.encode())
        except OSError:
            pass


def parse_status(line: bytes) -> ReadyStatus | Failed:
    fields = json.loads(line)
    kind = ReadyStatus if fields.pop("status") == READY else Failed
    return kind(**fields)
