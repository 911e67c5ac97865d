"""The reserve of free disk space: below it writes of clients are refused, so that metadata and internal topics still fit.

Copies of what others lead are held to a smaller reserve: they would fill the disk to its last byte, and leave nothing to
the internal topics that this broker leads, nor to the checkpoints without which nothing can be deleted.

Asking the file system costs more than a write may, so it is asked again only when as many bytes came in as could have
used the room up, and once a second, since others write to the same disk.
"""

import logging

from headrace.base.disk import Disk
from headrace.base.errors import DiskFull, Refused
from headrace.base.probe import Probes
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.disk")

RESERVE_BYTES = 1 << 30
RESERVE_SHARE = 50
# A small disk (a test's) keeps a tenth.
RESERVE_SHARE_MIN = 10
# The share of the reserve that copies must leave.
COPIES_SHARE = 8
# The share of the reserve that must be free beside it before a disk that was full counts as one with room to lead.
LEAD_AGAIN_SHARE = 4


class DiskRoom:
    def __init__(self, disk: Disk, path: str, probes: Probes) -> None:
        self.is_low = False
        """Clients' writes are refused."""
        self.is_full = False
        """Whether others should lead: true from when room is low until there is clearly more than the reserve."""
        self._disk = disk
        self.path = path
        self._probes = probes
        total_bytes = disk.total_bytes(path)
        self.reserve_bytes = min(max(RESERVE_BYTES, total_bytes // RESERVE_SHARE), total_bytes // RESERVE_SHARE_MIN)
        self.copies_reserve_bytes = self.reserve_bytes // COPIES_SHARE
        self._ask_again_at = 0
        self._copies_left = 0
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

    def check_copy(self, size: int) -> None:
        """Before a copy of another broker's records; raises DiskFull when there is no room for it."""
        if size > self._copies_left:
            self.look()
            if size > self._copies_left:
                reserve = self.copies_reserve_bytes >> 20
                raise DiskFull(f"{self.path}: copies leave {reserve} MiB free; free space or lower retention")
        self._copies_left -= size

    def look(self) -> None:
        free_bytes = self._disk.free_bytes(self.path)
        self._copies_left = free_bytes - self.copies_reserve_bytes
        self._ask_again_at = self._probes.bytes_received + max(0, free_bytes - self.reserve_bytes)
        was_low, self.is_low = self.is_low, free_bytes < self.reserve_bytes
        lead_again_bytes = self.reserve_bytes + self.reserve_bytes // LEAD_AGAIN_SHARE
        self.is_full = self.is_low or (self.is_full and free_bytes < lead_again_bytes)
        if self.is_low and not was_low:
            logger.error(
                "only %(free_mib)d MiB are left under %(path)s: writes are refused until there are %(reserve_mib)d. Free "
                "space or lower retention",
                {"free_mib": free_bytes >> 20, "path": self.path, "reserve_mib": self.reserve_bytes >> 20},
            )
        elif was_low and not self.is_low:
            logger.warning("there is room under %(path)s again: writes are accepted", {"path": self.path})
