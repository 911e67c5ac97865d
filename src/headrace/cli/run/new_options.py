"""New options from `headrace up` for a running broker, when its file was read again: one JSON line down the pipe
between them.
"""

import json
import os
from typing import NamedTuple


class NewOptions(NamedTuple):
    settings: dict[str, str]
    log_level: str

    def to_line(self) -> bytes:
        return json.dumps(self._asdict()).encode() + b"\n"


class ParentPipe:
    """The broker's end. It is closed when the parent is gone, however that ended."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._unread = b""
        # Children of the broker (compaction, recovery) would keep it open.
        os.set_inheritable(fd, False)

    def read(self) -> list[NewOptions] | None:
        """The options that have come whole since the last time; None when the parent is gone."""
        chunk = os.read(self.fd, 65536)
        if not chunk:
            return None
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        return [NewOptions(**json.loads(line)) for line in lines]
