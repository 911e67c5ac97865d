"""The timers of one coordinator, by the keys of its core: a later one of a key replaces the one before."""

from collections.abc import Callable

from headrace.base.clock import Clock
from headrace.base.outcome import Timer, TimerKey
from headrace.broker.net.deadlines import Deadline, Deadlines


class Timers:
    def __init__(self, deadlines: Deadlines, clock: Clock, on_timer: Callable[[TimerKey], None]) -> None:
        self._deadlines = deadlines
        self._clock = clock
        self._on_timer = on_timer
        self._set: dict[TimerKey, Deadline] = {}

    def set(self, timer: Timer) -> None:
        known = self._set.pop(timer.key, None)
        if known is not None:
            known.cancel()
        if timer.at is not None:
            key, seconds = timer.key, max(0.0, timer.at - self._clock.now().mono)
            self._set[key] = self._deadlines.after(seconds, lambda: self._ring(key))

    def _ring(self, key: TimerKey) -> None:
        self._set.pop(key, None)
        self._on_timer(key)

    def stop(self) -> None:
        """Cancels all, and lets go of whom they would call: none is set from here on."""
        for deadline in self._set.values():
            deadline.cancel()
        self._set.clear()
        self._on_timer = lambda key: None
