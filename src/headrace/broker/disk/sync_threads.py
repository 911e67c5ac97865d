"""Syncs in threads: for directories, and for files where nobody does it better (`syncs`)."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from headrace.base.clock import Clock
from headrace.base.file_sync import Done, Job

THREADS = 32
# The work that one thread is given in a row: waking another one costs about this much of our time.
SHARE_SECONDS = 0.001
FORGETTING = 1.05
QUICKEST = 1e-6


class SyncThreads:
    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, threads: Executor) -> None:
        self._loop = loop
        self._clock = clock  # uvloop's own counts whole milliseconds
        self._threads = threads
        # How long a file took in the best round of late: quick ones share a thread, slow ones are synced side by side.
        self._file_seconds = SHARE_SECONDS

    def run(self, jobs: list[Job], done: Done) -> None:
        threads = self._threads_for(len(jobs))
        shares = [jobs[i::threads] for i in range(threads)]
        outstanding = len(shares)
        failure: BaseException | None = None
        started = self._clock.mono()

        def on_share(future: asyncio.Future[None]) -> None:
            nonlocal outstanding, failure
            outstanding -= 1
            # Asked of each, though the first says enough: one that nobody asked is reported by the loop.
            found = asyncio.CancelledError() if future.cancelled() else future.exception()
            failure = failure or found
            if outstanding == 0:
                self._note((self._clock.mono() - started) * threads / max(len(jobs), 1))
                done(failure)

        for share in shares:
            work = share[0] if len(share) == 1 else _Sequence(share)
            self._loop.run_in_executor(self._threads, work).add_done_callback(on_share)

    def _threads_for(self, files: int) -> int:
        return min(THREADS, files, 1 + int(files * self._file_seconds / SHARE_SECONDS))

    def _note(self, file_seconds: float) -> None:
        self._file_seconds = min(self._file_seconds * FORGETTING, max(file_seconds, QUICKEST))


class _Sequence:
    """Several jobs for one thread."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs

    def __call__(self) -> None:
        for job in self._jobs:
            job()
