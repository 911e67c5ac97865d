"""Waiters for an offset of a partition: produce requests, in the order of their appends.

Appends happen in offset order, so the waiters do too: one deque, looked at only from its front. A waiter that has given
up stays in it until its offset is reached, or until there are many: a partition may be stuck for hours, and every
resend waits again.
"""

from collections import deque
from typing import Any, Final, Protocol

SWEPT_FROM: Final = 1000
REACHED: Final = 0


class Waiter(Protocol):
    """A waiter, told once for each `part` it waits with: the offset was reached, or never will be."""

    def is_waiting(self, part: Any) -> bool:
        """Whether it still wants to be told."""

    def on_reached(self, part: Any) -> None: ...

    def on_lost(self, part: Any, code: int) -> None: ...


# News: a waiter, the part it waits with, and REACHED or the error code of why its offset never will be. A plain tuple,
# since there is one for every request that waits.
Told = tuple[Waiter, Any, int]


class OffsetWaiters:
    __slots__ = ("_queue", "_sweep_at")

    def __init__(self) -> None:
        self._queue: deque[tuple[int, Waiter, Any]] = deque()
        self._sweep_at = SWEPT_FROM

    def add(self, end_offset: int, waiter: Waiter, part: Any) -> None:
        if len(self._queue) >= self._sweep_at:
            self._sweep()
        queue = self._queue
        if queue and queue[-1][0] > end_offset:
            # A duplicate waits for its original, which may lie before what others already wait for.
            position = sum(1 for entry in queue if entry[0] <= end_offset)
            queue.insert(position, (end_offset, waiter, part))
        else:
            queue.append((end_offset, waiter, part))

    def _sweep(self) -> None:
        """Each is looked at once for each time that as many came."""
        self._queue = deque(entry for entry in self._queue if entry[1].is_waiting(entry[2]))
        self._sweep_at = max(SWEPT_FROM, 2 * len(self._queue))

    def reach(self, offset: int) -> list[Told]:
        """Takes out whoever waits for an end up to `offset`."""
        queue = self._queue
        told: list[Told] = []
        while queue and queue[0][0] <= offset:
            _, waiter, part = queue.popleft()
            told.append((waiter, part, REACHED))
        return told

    def lose_all(self, code: int) -> list[Told]:
        queue, self._queue = self._queue, deque()
        return [(waiter, part, code) for _, waiter, part in queue]

    def __len__(self) -> int:
        return len(self._queue)
