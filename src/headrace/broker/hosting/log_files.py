"""The files of this broker's logs: in which directories they are, through what they are opened, and who removes them."""

from typing import NamedTuple

from headrace.broker.disk.partition_directories import PartitionDirectories
from headrace.broker.upkeep.removals import Removals
from headrace.log.log import Log
from headrace.log.pool import FilePool


class LogFiles(NamedTuple):
    directories: PartitionDirectories
    pool: FilePool
    removals: Removals

    def remove(self, log: Log) -> None:
        """Takes a log out of the way at once; it is gone from the disk when a thread has found the time."""
        self.removals.add(log.drop())
