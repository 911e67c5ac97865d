"""Group commit: one round of fdatasync for everything that became dirty while the last round ran.

    append ─▶ `Ready.sync` ─▶ round: begin_sync, jobs off the loop, on_synced for all, carried out ─▶ next round

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
    """A partition, as far as it is made durable here. The ticket is its own business."""

    def begin_sync(self) -> Any: ...

    def on_synced(self, ticket: Any) -> None: ...


class Flusher:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        run_jobs: Run,
        probes: Probes,
        dirty: dict[Any, None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`dirty` is where whoever has something to sync is noted; a round takes all of it."""
        self._loop = loop
        self._clock = clock  # uvloop's own counts whole milliseconds
        self._run_jobs = run_jobs
        self._probes = probes
        self._dirty = dirty
        self._on_failure = on_failure
        self._on_round: Callable[[], object] = lambda: None
        self._running = False
        self._failure: BaseException | None = None
        self._idle: list[asyncio.Future[None]] = []

    def on_round(self, call: Callable[[], object]) -> None:
        """`call` carries out what a round made ready, before the next one begins."""
        self._on_round = call

    def begin(self) -> None:
        """Begins a round for what is dirty, unless one runs: then it is the next one's."""
        if self._dirty and not self._running and self._failure is None:
            self._begin_round()

    async def until_idle(self) -> None:
        """Returns when nothing is dirty and no round runs; raises when that will never be."""
        while self._running or self._dirty:
            if self._failure is not None:
                raise self._failure
            waiting: asyncio.Future[None] = self._loop.create_future()
            self._idle.append(waiting)
            await waiting

    def _begin_round(self) -> None:
        dirty = list(self._dirty)
        self._dirty.clear()
        tickets: list[tuple[Syncable, Any]] = []
        jobs: list[Job] = []
        try:
            for syncable in dirty:
                ticket = syncable.begin_sync()
                if ticket is not None:
                    tickets.append((syncable, ticket))
                    jobs += ticket.jobs
            if tickets:
                self._run(tickets, jobs)
            else:
                self._rest()
        except Exception as error:
            self._fail(error, dirty)

    def _run(self, tickets: list[tuple[Syncable, Any]], jobs: list[Job]) -> None:
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
        # It runs until all is carried out: whoever writes because of it must not begin another beside the one that follows.
        try:
            for syncable, ticket in tickets:
                syncable.on_synced(ticket)
            self._on_round()
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
