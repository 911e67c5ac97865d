"""Group commit: one round of fdatasync for everything that became dirty while the last round ran.

    append ─▶ mark ─▶ [dirty] ─▶ round: begin_sync, jobs off the loop (`base/syncs.py`), on_synced ─▶ next round

No timer: under load a round simply holds more. A round proves only what was written before it began (the log's ticket
remembers), so a write that lands while it runs waits for the next one. After a failed round there is no other: what a
failed fsync left on disk is unknown and a second one may lie.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from headrace.base.clock import Clock
from headrace.base.errors import DiskFailed
from headrace.base.file_sync import Job, Run
from headrace.base.probe import Probes


class Syncable(Protocol):
    """What can be made durable: a partition. The ticket is its own business."""

    def begin_sync(self) -> Any: ...

    def on_synced(self, ticket: Any) -> None: ...


class Flusher:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        run_jobs: Run,
        probes: Probes,
        check_lease: Callable[[], object],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._loop = loop
        self._clock = clock  # uvloop's own counts whole milliseconds
        self._run_jobs = run_jobs
        self._probes = probes
        self._check_lease = check_lease
        self._on_failure = on_failure
        self._dirty: dict[Syncable, None] = {}
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
        self._run_jobs(jobs, lambda error: self._end_round(tickets, started, len(jobs), error))

    def _end_round(
        self, tickets: list[tuple[Syncable, Any]], started: float, files: int, error: BaseException | None
    ) -> None:
        if error is not None:
            failure = error if isinstance(error, DiskFailed) else DiskFailed(str(error))
            self._fail(failure, [syncable for syncable, _ in tickets])
            return
        seconds = self._clock.now().mono - started
        self._probes.sync_rounds.observe(seconds)
        self._probes.sync_files += files
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
