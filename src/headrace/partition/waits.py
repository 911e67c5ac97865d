"""Both queues of one partition: for the watermark, and for the disk. Each is made when somebody first waits in it."""

from typing import Any

from headrace.partition.waiters import OffsetWaiters, Told, Waiter

NOBODY: list[Told] = []


class Waits:
    __slots__ = ("_committed", "_synced")

    def __init__(self) -> None:
        self._committed: OffsetWaiters | None = None
        self._synced: OffsetWaiters | None = None

    def __len__(self) -> int:
        return len(self._committed or ()) + len(self._synced or ())

    def for_committed(self, end_offset: int, waiter: Waiter, part: Any) -> None:
        if self._committed is None:
            self._committed = OffsetWaiters()
        self._committed.add(end_offset, waiter, part)

    def for_synced(self, end_offset: int, waiter: Waiter, part: Any) -> None:
        if self._synced is None:
            self._synced = OffsetWaiters()
        self._synced.add(end_offset, waiter, part)

    def reach_committed(self, high_watermark: int) -> list[Told]:
        return NOBODY if self._committed is None else self._committed.reach(high_watermark)

    def reach_synced(self, synced_end: int) -> list[Told]:
        return NOBODY if self._synced is None else self._synced.reach(synced_end)

    def lose_committed(self, code: int) -> list[Told]:
        return NOBODY if self._committed is None else self._committed.lose_all(code)

    def lose_all(self, code: int) -> list[Told]:
        synced = NOBODY if self._synced is None else self._synced.lose_all(code)
        return [*self.lose_committed(code), *synced]
