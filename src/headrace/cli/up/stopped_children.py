"""Children of `headrace up` that have stood still (SIGSTOP, a frozen cgroup) for longer than their lease.

Such a broker leads nothing any more, but the kernel keeps its connections open: clients that wait for its answer wait for
their own time-out. Only its end resets them. One that a debugger holds is not stopped in this sense.

Counted is only the time in which another broker ran, which could take over, and in which we looked: whoever stops all of
them, or us with them, wakes them one after the other, and those that are not awake yet have not stood still for so long.
"""

from collections.abc import Callable, Collection

from headrace.cli.up.child import ServeChild

LOOK_SECONDS = 0.5
# Looks further apart than this, or than half the patience: we stood still ourselves.
LATE_SECONDS = 2 * LOOK_SECONDS


class StoppedChildren:
    """`patience_s` 0 finds nobody."""

    def __init__(self, patience_s: float, is_stopped: Callable[[int], bool]) -> None:
        self.patience_s = patience_s
        self._is_stopped = is_stopped
        self._since: dict[ServeChild, float] = {}
        self._looked = 0.0

    def look(self, children: Collection[ServeChild], mono: float) -> list[ServeChild]:
        """Children seen stopped at every look for the whole patience, while others ran."""
        if not self.patience_s:
            return []
        is_late = mono - self._looked > max(LATE_SECONDS, self.patience_s / 2)
        self._looked = mono
        stopped = [child for child in children if self._is_stopped(child.pid)]
        if len(stopped) == len(children):
            stopped = []
        known = {} if is_late else self._since
        self._since = {child: known.get(child, mono) for child in stopped}
        return [child for child, since in self._since.items() if mono - since >= self.patience_s]

    def was_seen(self, child: ServeChild) -> bool:
        """Whether it stood still at the last look, while others ran."""
        return child in self._since
