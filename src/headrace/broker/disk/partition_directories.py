"""Directories of partitions: which is whose, made for a new partition, set aside when nobody knows it.

    DATA/logs/orders-0/       one directory a partition; the file `topic.id` in it says whose it is
    DATA/logs/….stray         a directory of a topic the cluster does not know: kept for a person to look at
    DATA/logs/….deleted       on its way out

All of it waits for the disk, so it is for a thread, or for the start.
"""

import hashlib
import logging
from collections.abc import Collection

from headrace.base.disk import Disk
from headrace.base.ids import TopicPartition, format_id, parse_id
from headrace.log.segment import log_path

logger = logging.getLogger("headrace.partitions")

_NAME_BYTES_MAX = 240


class Unclaimed(Exception):
    """A directory with records in it that does not say whose they are."""


class Vanished(Exception):
    """A directory that was here before, with records in it, and is gone."""


class PartitionDirectories:
    def __init__(self, disk: Disk, path: str) -> None:
        self.path = f"{path}/logs"
        self._disk = disk
        disk.mkdir(self.path)
        disk.sync_dir_job(path)()

    def of(self, id: TopicPartition) -> str:
        return f"{self.path}/{_short(str(id))}"

    def sync(self) -> None:
        """The names of all directories are durable."""
        self._disk.sync_dir_job(self.path)()

    def claim(self, id: TopicPartition, topic_id: bytes, is_known: bool = False) -> bool:
        """Make the directory this topic's; True when it is new. One of an older topic is set aside, not reused.
        `is_known`: it must be there. `Vanished` when it is not, before anything is made."""
        directory = self.of(id)
        marker = f"{directory}/topic.id"
        wanted = format_id(topic_id)
        owner = self._owner(marker)
        if owner == wanted:
            return False
        if not owner and self._has_records(directory):
            # It is written before the first record, and synced: somebody else took it away.
            raise Unclaimed(
                f"{marker} is missing or damaged. If these are the records of {id}, write {wanted} into it and start again"
            )
        if is_known:
            raise Vanished(f"{directory} is gone")
        if owner:
            self._set_aside(directory)
        self._disk.mkdir(directory)
        self._disk.write_atomic(marker, wanted.encode())
        # Here and not by the log: making a file waits for whatever the disk is busy with, and that is not for the loop.
        self._disk.open(log_path(directory, 0), create=True).close()
        return True

    def _has_records(self, directory: str) -> bool:
        return self._disk.exists(directory) and any(name.endswith(".log") for name in self._disk.listdir(directory))

    def _owner(self, marker: str) -> str:
        """The topic id in the file; empty when there is none in it."""
        if not self._disk.exists(marker):
            return ""
        try:
            return format_id(parse_id(self._disk.read(marker).decode().strip()))
        except ValueError:
            return ""

    def _set_aside(self, directory: str) -> None:
        target = f"{directory}.stray"
        number = 1
        while self._disk.exists(target):
            number += 1
            target = f"{directory}.{number}.stray"
        logger.warning(
            "%(path)s belongs to no replica of this broker; kept as %(kept_as)s", {"path": directory, "kept_as": target}
        )
        self._disk.rename(directory, target)

    def set_strays_aside(self, ours: Collection[TopicPartition]) -> None:
        """Renames every directory that is none of `ours`; what was being deleted is deleted."""
        known = {_short(str(id)) for id in ours}
        for name in self._disk.listdir(self.path):
            if name.endswith(".deleted"):
                self._disk.remove_tree(f"{self.path}/{name}")
            elif name not in known and not name.endswith(".stray"):
                self._set_aside(f"{self.path}/{name}")


def _short(name: str) -> str:
    """A file name may have 255 bytes, a topic name takes 249 of them: long ones end in a digest instead."""
    if len(name) <= _NAME_BYTES_MAX:
        return name
    return f"{name[:200]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
