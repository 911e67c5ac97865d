"""Group commit: one round of fdatasync for everything that became dirty while the last round ran.

    append ─▶ mark ─▶ [dirty] ─▶ round: begin_sync on the loop, jobs in threads, on_synced on the loop ─▶ next round

No timer: under load a round simply holds more; many files may be proven by one job (`base/whole_sync.py`). A round proves
only what was written before it began (the log's ticket remembers), so a write that lands while it runs waits for the next
one. After a failed round there is no other: what a failed fsync left on disk is unknown and a second one may lie.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, Protocol

from headrace.base.clock import Clock
from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes

THREADS = 32
# What one thread is given to do in a row: waking another one costs about this much of our time.
SHARE_SECONDS = 0.001
FORGETTING = 1.05
QUICKEST = 1e-6
Job = Callable[[], None]


class Syncable(Protocol):
    """What can be made durable: a partition. The ticket is its own business."""

    def begin_sync(self) -> Any: ...

    def on_synced(self, ticket: Any) -> None: ...


class Flusher:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        threads: Executor,
        probes: Probes,
        check_lease: Callable[[], object],
        on_failure: Callable[[BaseException], None],
        sync_together: Callable[[list[Job]], list[Job]] = list,
    ) -> None:
        self._loop = loop
        self._clock = clock  # uvloop's own counts whole milliseconds
        self._threads = threads
        self._probes = probes
        self._check_lease = check_lease
        self._on_failure = on_failure
        self._sync_together = sync_together
        self._dirty: dict[Syncable, None] = {}
        # How long a file took in the best round of late: quick ones share a thread, slow ones are synced side by side.
        self._file_seconds = SHARE_SECONDS
        self._running = False
        self._scheduled = False
        self._failure: BaseException | None = None
        self._idle: list[asyncio.Future[None]] = []

    def mark(self, syncable: Syncable) -> None:
        self._dirty[syncable] = None
        if not self._running and not self._scheduled and self._failure is None:
            # At the end of this turn: all the frames that one read brought in share a round.
            self._scheduled = True
            self._loop.call_soon(self._begin_round)

    async def until_idle(self) -> None:
        """Returns when nothing is dirty and no round runs; raises when that will never be."""
        while self._running or self._dirty:
            if self._failure is not None:
                raise self._failure
            waiting: asyncio.Future[None] = self._loop.create_future()
            self._idle.append(waiting)
            await waiting

    def _begin_round(self) -> None:
        self._scheduled = False
        dirty, self._dirty = self._dirty, {}
        tickets: list[tuple[Syncable, Any]] = []
        jobs: list[Job] = []
        try:
            for syncable in dirty:
                ticket = syncable.begin_sync()
                if ticket is not None:
                    tickets.append((syncable, ticket))
                    jobs += ticket.jobs
        except Exception as error:
            self._fail(error, dirty)
            return
        if not tickets:
            self._rest()
            return
        self._running = True
        started = self._clock.now().mono
        work = self._sync_together(jobs)
        self._run_jobs(work, lambda error: self._end_round(tickets, started, len(jobs), len(work), error))

    def _run_jobs(self, jobs: list[Job], done: Callable[[BaseException | None], None]) -> None:
        threads = self._threads_for(len(jobs))
        shares = [jobs[i::threads] for i in range(threads)]
        outstanding = len(shares)
        failure: BaseException | None = None

        def on_share(future: asyncio.Future[None]) -> None:
            nonlocal outstanding, failure
            outstanding -= 1
            # Asked of each, though the first says enough: one that nobody asked is reported by the loop.
            found = asyncio.CancelledError() if future.cancelled() else future.exception()
            failure = failure or found
            if outstanding == 0:
                done(failure)

        for share in shares:
            work = share[0] if len(share) == 1 else _Sequence(share)
            self._loop.run_in_executor(self._threads, work).add_done_callback(on_share)

    def _threads_for(self, files: int) -> int:
        return min(THREADS, files, 1 + int(files * self._file_seconds / SHARE_SECONDS))

    def _end_round(
        self, tickets: list[tuple[Syncable, Any]], started: float, files: int, jobs: int, error: BaseException | None
    ) -> None:
        if error is not None:
            failure = error if isinstance(error, DiskFailed) else DiskFailed(str(error))
            self._fail(failure, [syncable for syncable, _ in tickets])
            return
        seconds = self._clock.now().mono - started
        self._probes.sync_rounds.observe(seconds)
        self._probes.sync_files += files
        # One job for many files says nothing about a file.
        if files and files == jobs:
            seen = max(seconds * self._threads_for(files) / files, QUICKEST)
            self._file_seconds = min(self._file_seconds * FORGETTING, seen)
        # What was synced may now be acknowledged, if it is still ours to do so. It runs until all are told: who writes
        # because of what it hears must not begin another beside the one that follows.
        try:
            self._check_lease()
            for syncable, ticket in tickets:
                syncable.on_synced(ticket)
        except Exception as bug:
            self._fail(bug, [syncable for syncable, _ in tickets])
            return
        self._running = False
        if self._dirty:
            self._begin_round()
        else:
            self._rest()

    def _fail(self, failure: Exception, unproven: Iterable[Syncable]) -> None:
        """The disk, or a bug of ours in the midst of a round: half of it told and half not, there is no going on."""
        self._failure = failure
        self._running = False
        # As dirty as before, so that nobody who waits for the disk takes it for clean.
        self._dirty.update(dict.fromkeys(unproven))
        self._rest()
        self._on_failure(failure)

    def _rest(self) -> None:
        idle, self._idle = self._idle, []
        for waiting in idle:
            if not waiting.done():
                waiting.set_result(None)


class _Sequence:
    """Several jobs for one thread."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs

    def __call__(self) -> None:
        for job in self._jobs:
            job()
