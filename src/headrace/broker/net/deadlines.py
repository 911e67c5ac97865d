"""One coarse wheel for every deadline of a broker: adding one costs a list append, not a timer.

A parked fetch or produce needs a deadline that is rarely reached, so precision is worth nothing and price everything:
entries share a timer per `GRAIN` seconds and fire up to one grain late, never early.
"""

import asyncio
from collections.abc import Callable

GRAIN = 0.01


class Deadline:
    """A callback that will run unless cancelled first."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Deadlines:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._slots: dict[int, list[Deadline]] = {}

    def after(self, seconds: float, callback: Callable[[], None]) -> Deadline:
        slot = int((self._loop.time() + seconds) / GRAIN) + 1
        entry = Deadline(callback)
        entries = self._slots.get(slot)
        if entries is None:
            self._slots[slot] = [entry]
            self._loop.call_at(slot * GRAIN, self._fire, slot)
        else:
            entries.append(entry)
        return entry

    def _fire(self, slot: int) -> None:
        for entry in self._slots.pop(slot, ()):
            callback, entry.callback = entry.callback, None
            if callback is not None:
                try:
                    callback()
                except Exception as error:
                    # The others of this slot wait for their end too.
                    self._loop.call_exception_handler({"message": f"deadline {callback!r}", "exception": error})
