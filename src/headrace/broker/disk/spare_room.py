"""Room on a full disk to empty it: a file that is given up when a deletion cannot be written down without it.

What is deleted is written down first, and to write takes room. With not a byte left nothing could ever be deleted. The
file is made again when there is room for it. All of it blocks: for a thread, or for the start.
"""

import logging

from headrace.base.disk import Disk
from headrace.base.errors import DiskFull

logger = logging.getLogger("headrace.disk")

SPARE_BYTES = 256 << 10
# A line of a checkpoint has 60 bytes: with many partitions the file itself outgrows the smallest spare.
GROWTH = 2
# On a disk with less than this many times the spare, others need the room more.
ROOM_SHARE = 2


class SpareRoom:
    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = f"{path}/spare-room"
        self._folder = path
        self._starts = f"{path}/start-offsets"
        self.is_held = disk.exists(self._path)

    def hold(self) -> None:
        """Makes the file, or a larger one, if there is room for it."""
        wanted = max(SPARE_BYTES, GROWTH * self._disk.size(self._starts) if self._disk.exists(self._starts) else 0)
        held = self._disk.size(self._path) if self.is_held else 0
        if held < wanted and self._disk.free_bytes(self._folder) >= ROOM_SHARE * wanted:
            try:
                # No zeros: some file systems take no room for them.
                self._disk.write_atomic(self._path, bytes(range(1, 251)) * (wanted // 250 + 1))
                self.is_held = True
            except DiskFull:
                logger.debug("no room for %(path)s", {"path": self._path})

    def give_up(self) -> bool:
        """Whether there was one to give up."""
        if not self.is_held:
            return False
        logger.warning("%(path)s is given up, so that what is deleted can be written down", {"path": self._path})
        self._disk.unlink(self._path)
        self.is_held = False
        return True
