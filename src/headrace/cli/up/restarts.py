"""`headrace up --restart`: children that died are started again after a pause that grows while they keep dying."""

from headrace.cli.up.child import Child

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 30.0
# One that served for so long had another cause to die than the last time.
STEADY_SECONDS = 60.0


class Restarts:
    """Switched off, nobody is ever due."""

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on
        self._due: dict[Child, float] = {}
        self._pauses: dict[Child, float] = {}
        self._began: dict[Child, float] = {}

    def on_launch(self, child: Child, mono: float) -> None:
        self._began[child] = mono
        self._due.pop(child, None)

    def on_death(self, child: Child, mono: float) -> float | None:
        """After how many seconds it is started again; None for never."""
        if not self.is_on:
            return None
        is_new = mono - self._began.get(child, mono) >= STEADY_SECONDS
        last = None if is_new else self._pauses.get(child)
        pause = FIRST_SECONDS if last is None else min(LONGEST_SECONDS, last * 2)
        self._pauses[child] = pause
        self._due[child] = mono + pause
        return pause

    def due(self, mono: float) -> list[Child]:
        return [child for child, moment in self._due.items() if moment <= mono]

    def seconds_left(self, mono: float) -> float | None:
        """Seconds until the next restart is due; None if none waits."""
        return max(0.0, min(self._due.values()) - mono) if self._due else None
