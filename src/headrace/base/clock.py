"""Time enters the cores as an argument: `Now` carries both clocks, so nobody mixes them up.

`mono` (seconds) is for timers and deadlines and never jumps; `wall` (ms since 1970) is for stamps that are stored.
"""

from typing import NamedTuple, Protocol


class Now(NamedTuple):
    mono: float
    wall: int


class Clock(Protocol):
    def now(self) -> Now: ...

    def mono(self) -> float:
        """The monotonic clock of `now` alone, at a quarter of its cost: for durations that are only measured."""
        ...

    def boot_id(self) -> str:
        """The name of this run of the kernel; another one means that nothing unsynced survived in the page cache.

        Empty if nobody can say, which must count as another one.
        """
