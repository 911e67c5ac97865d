"""The watch on a disk that may hang: its broker must not lead then, but its lease lives on, and nobody else may take over.

    operation begun ─▶ … nothing of the disk comes back for a tick ─▶ a small file is written beside it
                           └─ nor that, for `log.disk.hang.timeout.ms` ─▶ it hangs ─▶ anything comes back ─▶ it answers

A disk that is only slow answers: a sync of a large file may take long, but not everything does. That cannot be told from
a hang of this one operation, so one that takes TIMES_OLDEST as long counts as hung, whatever else comes back.
A disk that hung and came back may do so again: `recent_hangs` counts them, one less with every minute of good answers.

Time is counted in ticks, not by the clock: a process that stood still has not been let down by its disk. It loses the ticks
that it missed; one that comes late by less than a tick is none of those.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from headrace.base.file_sync import Done, Job, Run

TICKS = 8
TIMES_OLDEST = 10
HANGS_MAX = 8
FORGIVEN_SECONDS = 60.0

T = TypeVar("T")


class DiskWatch:
    def __init__(self, loop: asyncio.AbstractEventLoop, threads: Executor, probe: Job, patience_ms: int) -> None:
        """`probe` writes a small file, durably. A patience of 0 is endless."""
        self.is_hung = False
        self.recent_hangs = 0
        """Hangs that ended by themselves."""
        self.tick_seconds = max(patience_ms, 1) / 1000 / TICKS
        self._is_patient = patience_ms == 0
        self._loop = loop
        self._threads = threads
        self._probe = probe
        self._ages: dict[object, int] = {}
        self._has_answered = False
        self._is_probing = False
        self._silent_ticks = 0
        self._good_ticks = 0
        self._changed = asyncio.Event()

    # -- what the disk is given to do ------------------------------------------------------------------------------

    def watched(self, run: Run) -> Run:
        """The same runner of sync jobs, seen by this watch."""

        def run_watched(jobs: list[Job], done: Done) -> None:
            operation = self._begin()

            def on_done(error: BaseException | None) -> None:
                self._end(operation)
                done(error)

            run(jobs, on_done)

        return run_watched

    async def in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        operation = self._begin()
        try:
            return await self._loop.run_in_executor(self._threads, work, *arguments)
        finally:
            self._end(operation)

    def _begin(self) -> object:
        operation = object()
        self._ages[operation] = 0
        return operation

    def _end(self, operation: object) -> None:
        del self._ages[operation]
        self._has_answered = True

    # -- watching --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        due = self._loop.time()
        while not self._is_patient:
            # A tick that came late makes the next one come sooner, or a busy machine would be patient for twice as long.
            now = self._loop.time()
            due = due + self.tick_seconds if now < due + self.tick_seconds else now + self.tick_seconds
            await asyncio.sleep(due - now)
            self.on_tick()

    def on_tick(self) -> None:
        oldest = max(self._ages.values(), default=0)
        self._silent_ticks = self._silent_ticks + 1 if oldest and not self._has_answered else 0
        self._has_answered = False
        for operation in self._ages:
            self._ages[operation] += 1
        if oldest and not self._is_probing:
            self._begin_probe()
        self._set(self._silent_ticks >= TICKS or oldest >= TICKS * TIMES_OLDEST)
        self._forgive()

    def _begin_probe(self) -> None:
        self._is_probing = True
        self._loop.run_in_executor(self._threads, self._probe).add_done_callback(self._on_probed)

    def _on_probed(self, probe: "asyncio.Future[None]") -> None:
        # A refusal is an answer. If the disk is broken, whoever needs it finds out.
        with contextlib.suppress(Exception, asyncio.CancelledError):
            probe.result()
        self._is_probing = False
        self._has_answered = True

    def _set(self, is_hung: bool) -> None:
        if is_hung == self.is_hung:
            return
        self.is_hung = is_hung
        self._good_ticks = 0
        if not is_hung:
            self.recent_hangs = min(HANGS_MAX, self.recent_hangs + 1)
        self._changed.set()

    def _forgive(self) -> None:
        self._good_ticks = 0 if self.is_hung else self._good_ticks + 1
        if self._good_ticks * self.tick_seconds >= FORGIVEN_SECONDS:
            self._good_ticks = 0
            self.recent_hangs = max(0, self.recent_hangs - 1)

    async def until_hung(self, seconds: float) -> bool:
        """Whether it hangs, now or within so many seconds."""
        await self._until(True, seconds)
        return self.is_hung

    async def until_answering(self) -> None:
        while self.is_hung:
            await self._until(False, 3600.0)

    async def _until(self, is_hung: bool, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.is_hung != is_hung:
                    self._changed.clear()
                    await self._changed.wait()
