"""Compaction inside a simulated broker: what its child process would do, over the host's own disk."""

from headrace.base.disk import Disk
from headrace.log.clean_job import CleanJob, CleanReport
from headrace.log.clean_log import clean_log
from headrace.log.swap import CleanedGroup


class SimCleaning:
    """A `Cleaning`. Each group is one piece of work of a thread: the host may die between any two."""

    def __init__(self, disk: Disk, job: CleanJob) -> None:
        self._found = clean_log(disk, CleanJob.decode(job.encode()), b"secret", lambda _: None)

    def next(self) -> CleanedGroup | CleanReport:
        return next(self._found)

    def kill(self) -> None:
        pass

    def end(self) -> None:
        pass
