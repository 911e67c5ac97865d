"""The mark `damaged` in a log's directory: from before a recovery cuts more than a torn end, until the cluster knows.

Invariant: durable before anything is cut, since the cut itself shows no more, so that the next life knows of it too.
"""

from collections.abc import Container

from headrace.base.disk import Disk
from headrace.log.envelope import wrap

DAMAGE_MARK = "damaged"
_MAGIC, VERSION = b"HRdm", 1


class DamageMark:
    __slots__ = ("_directory", "_disk", "is_set")

    def __init__(self, disk: Disk, directory: str, names: Container[str]) -> None:
        self._disk = disk
        self._directory = directory
        self.is_set = DAMAGE_MARK in names

    def set(self) -> None:
        if not self.is_set:
            self._disk.write_atomic(f"{self._directory}/{DAMAGE_MARK}", wrap(_MAGIC, VERSION, b""))
            self.is_set = True

    def forget(self) -> None:
        """Removes the mark: the cluster counts on this copy no more, or knows no better one."""
        if self.is_set:
            self._disk.unlink(f"{self._directory}/{DAMAGE_MARK}")
            self.is_set = False
