"""Directories of partitions on their way out: removed one at a time, in a thread that syncs and the disk watch can spare.

A topic of a thousand partitions would fill every thread with removals. Syncs would wait behind them, and so would the
small file by which a slow disk is told from one that hangs (`disk.watch`): the broker would give up its lease over it.
What is left when the broker stops is removed by its next start.
"""

import asyncio
import contextlib
import logging
from collections import deque
from concurrent.futures import Executor

from headrace.base.disk import Disk

logger = logging.getLogger("headrace.partitions")


class Removals:
    def __init__(self, disk: Disk, threads: Executor) -> None:
        self._disk = disk
        self._threads = threads
        self._waiting: deque[str] = deque()
        self._removing = ""

    def add(self, path: str) -> None:
        self._waiting.append(path)
        if not self._removing:
            self._begin()

    def _begin(self) -> None:
        self._removing = self._waiting.popleft()
        removal = asyncio.get_running_loop().run_in_executor(self._threads, self._disk.remove_tree, self._removing)
        removal.add_done_callback(self._on_removed)

    def _on_removed(self, removal: "asyncio.Future[None]") -> None:
        if not removal.cancelled() and removal.exception() is not None:
            logger.warning(
                "%(path)s is left to the next start: %(cause)s", {"path": self._removing, "cause": removal.exception()}
            )
        self._removing = ""
        if self._waiting:
            # The threads of a broker that stops take nothing more.
            with contextlib.suppress(RuntimeError):
                self._begin()
