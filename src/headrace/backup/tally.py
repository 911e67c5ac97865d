"""The progress of a backup or a restore, added up by whoever works on it, shown by whoever watches."""

import threading


class Tally:
    """Counts of work done, added to from several threads."""

    def __init__(self) -> None:
        self.offsets = 0
        self.bytes = 0
        self.offsets_total = 0
        self.bytes_total = 0
        self._lock = threading.Lock()

    def add(self, *, offsets: int = 0, bytes: int = 0) -> None:
        with self._lock:
            self.offsets += offsets
            self.bytes += bytes
