"""The runner of sync jobs: one syncfs for a round of many files, else the kernel's workers, else threads.

Each way passes the jobs that it cannot do to the next: syncing again what is synced already is no harm. A failure of
the disk is never tried again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from headrace.base.file_sync import Done, FileSync, Job, Run
from headrace.broker.disk.kernel_sync import FILES_MAX, KernelSync, NotOffered
from headrace.broker.disk.syncfs import FILES_MIN, NotNow, SyncfsProcess, is_proof

logger = logging.getLogger("headrace.syncs")


class Syncs(Protocol):
    def run(self, jobs: list[Job], done: Done) -> None:
        """Begins the jobs; `done` is called later, on the loop."""

    def close(self) -> None: ...


# Opens the runner for files below a path; it falls back to the threads it is given.
OpenSyncs = Callable[[str, Run], Syncs]


class ThreadsOnly:
    """The sync runner for disks that the kernel does not sync by itself: the simulator's, for one."""

    def __init__(self, path: str, by_threads: Run) -> None:
        self.run = by_threads

    def close(self) -> None:
        return


class RealSyncs:
    """The sync runner for files below `path`, one round at a time."""

    def __init__(self, path: str, by_threads: Run) -> None:
        self._path = path
        self._by_threads = by_threads
        self._loop = asyncio.get_running_loop()
        self._kernel = self._open_kernel()
        self._may_syncfs = True
        self._syncfs: SyncfsProcess | None = None

    def _open_kernel(self) -> KernelSync | None:
        try:
            return KernelSync(self._loop)
        except NotOffered as refusal:
            logger.info("files are synced by threads: the kernel does not offer to (%(cause)s)", {"cause": refusal})
            return None

    def run(self, jobs: list[Job], done: Done) -> None:
        files = [job for job in jobs if type(job) is FileSync]
        if len(files) < len(jobs):
            # The sync of a directory, which has to be opened first.
            self._by_threads(jobs, done)
        elif (syncfs := self._syncfs_for(files)) is not None:
            self._sync_all(syncfs, files, done)
        else:
            self._sync_each(files, done)

    def _syncfs_for(self, files: list[FileSync]) -> SyncfsProcess | None:
        if len(files) < FILES_MIN or not self._may_syncfs:
            return None
        if self._syncfs is None:
            # Started when first needed: a broker of few partitions never needs it.
            self._may_syncfs = is_proof(self._path)
            if not self._may_syncfs:
                return None
            self._syncfs = SyncfsProcess(self._path, self._loop)
        syncfs = self._syncfs
        # Somebody may have put a partition on a disk of its own.
        is_fit = syncfs.is_alive and all(file.device == syncfs.device for file in files)
        return syncfs if is_fit else None

    def _sync_all(self, syncfs: SyncfsProcess, files: list[FileSync], done: Done) -> None:
        def on_done(error: BaseException | None) -> None:
            if isinstance(error, NotNow):
                self._sync_each(files, done)
            else:
                done(error)

        syncfs.begin(on_done)

    def _sync_each(self, files: list[FileSync], done: Done) -> None:
        def on_done(error: BaseException | None) -> None:
            if isinstance(error, NotOffered):
                logger.info("files are synced by threads: %(cause)s", {"cause": error})
                self._close_kernel()
                self._by_threads(list(files), done)
            else:
                done(error)

        if self._kernel is None or len(files) > FILES_MAX:
            self._by_threads(list(files), done)
            return
        try:
            self._kernel.begin(files, on_done)
        except NotOffered as refusal:
            on_done(refusal)

    def _close_kernel(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def close(self) -> None:
        self._close_kernel()
        if self._syncfs is not None:
            self._syncfs.close()
