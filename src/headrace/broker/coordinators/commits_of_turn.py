"""The offset commits of one turn of the loop, which share one batch.

A thousand commits a second come a few at a time, and cost one append for those few. They may wait for each other unapplied,
since no commit is decided by another's offsets; any other decision stores them first.
"""

import asyncio
from collections.abc import Callable

from headrace.groups.outcome import GroupOutcome, nothing


class CommitsOfTurn:
    def __init__(self, store: Callable[[GroupOutcome], object]) -> None:
        self._store = store
        self._turn = nothing()
        self._is_due = False

    def add(self, outcome: GroupOutcome) -> None:
        """Stores a commit with the others, at the latest when the turn ends."""
        self._turn.records.extend(outcome.records)
        self._turn.replies.extend(outcome.replies)
        self._turn.timers.extend(outcome.timers)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self.store)

    def store(self) -> None:
        """Stores the commits of this turn, so that the next decision sees them."""
        if self._is_due:
            turn, self._turn = self._turn, nothing()
            self._is_due = False
            self._store(turn)
