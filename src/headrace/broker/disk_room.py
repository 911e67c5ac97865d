"""Is there room for what clients write? Below a reserve they are refused, so that metadata and internal topics still fit.

Asking the file system costs more than a write may, so it is asked again only when as many bytes came in as could have
used the room up, and once a second, since others write to the same disk.
"""

import logging

from headrace.base.disk import Disk
from headrace.base.errors import Refused
from headrace.base.probe import Probes
from headrace.wire.codes import ErrorCode

log = logging.getLogger("headrace.disk")

RESERVE_BYTES = 1 << 30
RESERVE_SHARE = 50
# A small disk (a test's) keeps a tenth.
RESERVE_SHARE_MIN = 10


class DiskRoom:
    def __init__(self, disk: Disk, path: str, probes: Probes) -> None:
        self.is_low = False
        self._disk = disk
        self.path = path
        self._probes = probes
        total_bytes = disk.total_bytes(path)
        self.reserve_bytes = min(max(RESERVE_BYTES, total_bytes // RESERVE_SHARE), total_bytes // RESERVE_SHARE_MIN)
        self._ask_again_at = 0
        self.look()

    def check(self) -> None:
        """Before a client's write; raises Refused when there is no room for it."""
        if self.is_low or self._probes.bytes_received >= self._ask_again_at:
            self.look()
            if self.is_low:
                raise Refused(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"less than {self.reserve_bytes >> 20} MiB are free under {self.path}; free space or lower retention",
                )

    def look(self) -> None:
        free_bytes = self._disk.free_bytes(self.path)
        self._ask_again_at = self._probes.bytes_received + max(0, free_bytes - self.reserve_bytes)
        was_low, self.is_low = self.is_low, free_bytes < self.reserve_bytes
        if self.is_low and not was_low:
            log.error(
                "only %d MiB are left under %s: writes are refused until there are %d. Free space or lower retention",
                free_bytes >> 20,
                self.path,
                self.reserve_bytes >> 20,
            )
        elif was_low and not self.is_low:
            log.warning("there is room under %s again: writes are accepted", self.path)
