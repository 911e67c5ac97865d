"""Bytes that all connections together may hold in buffers; who needs more than is left waits, in turn, unread.

One holder at a time may go over the limit. Without it, as many half-received frames as fill the budget would wait for
each other for ever; with it, one of them is always finished, gives its bytes back, and lets the next one go. So the
memory is bounded by the budget and one frame.
"""

from collections import deque
from typing import Protocol


class Holder(Protocol):
    def on_budget(self) -> None:
        """The bytes that were refused are there now: take them."""


class Budget:
    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.used = 0
        self._overdrawn_by: Holder | None = None
        self._waiting: deque[tuple[Holder, int]] = deque()

    @property
    def is_waited_for(self) -> bool:
        return bool(self._waiting)

    @property
    def is_contended(self) -> bool:
        """Whether a holder waits or is over the limit: holders that can do with less should give it back now."""
        return bool(self._waiting) or self._overdrawn_by is not None

    def take(self, count: int, holder: Holder) -> bool:
        """False when there is too little; the holder is then told once there is enough."""
        if not self._grant(count, holder):
            self._waiting.append((holder, count))
            return False
        return True

    def take_spare(self, count: int) -> bool:
        """Takes spare bytes for a mere convenience: granted while less than half is in use, never waited for."""
        if self.is_contended or self.used + count > self.bytes_max // 2:
            return False
        self.used += count
        return True

    def take_anyway(self, count: int) -> None:
        """Takes bytes that a buffer has already, in another budget."""
        self.used += count

    def give_back(self, count: int, holder: Holder) -> None:
        self.used -= count
        assert self.used >= 0, (self.used, count)
        if self._overdrawn_by is holder:
            self._overdrawn_by = None
        while self._waiting and self._has_room(self._waiting[0][1]):
            self._waiting.popleft()[0].on_budget()

    def forget(self, holder: Holder) -> None:
        """Forgets a holder that is gone and waits no more."""
        self._waiting = deque(entry for entry in self._waiting if entry[0] is not holder)

    def _grant(self, count: int, holder: Holder) -> bool:
        if self.used + count > self.bytes_max:
            if self._overdrawn_by not in (None, holder):
                return False
            self._overdrawn_by = holder
        self.used += count
        return True

    def _has_room(self, count: int) -> bool:
        return self._overdrawn_by is None or self.used + count <= self.bytes_max
