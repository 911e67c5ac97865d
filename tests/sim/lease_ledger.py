"""What was told of leases on one host, judged. Checks, by name, beside `one-holder` of `store_history`:

    rising           a holder takes its own lease over under a higher epoch only
    renewed-or-lost  a lease that ran out is not renewed, and one that did not is not called lost
    alive-is-seen    a lease that its holder believes in is named to whoever asks
    dead-is-seen     a lease that ended, was released, or whose process died is named to nobody any more
    told             who looks for news hears of every change

A lease file that somebody deletes or replaces is another file: what was told of the one before holds nobody to anything.
"""

import math
from collections.abc import Mapping

from headrace.cluster.store import Lease
from sim.store_history import Broken, Tenures

SQLITES_TICK_S = 0.002
"""SQLite's clock knows milliseconds."""


class LeaseLedger:
    def __init__(self) -> None:
        self.acked = 0
        self._tenures = Tenures()
        self._believed: dict[Lease, float] = {}
        """Until when a holder believes in it."""
        self._ends: dict[Lease, float] = {}
        """The end that the file has, at the most."""
        self._gone: dict[Lease, None] = {}
        self._file_since = 0.0

    def on_another_file(self, now: float) -> None:
        self._tenures = Tenures()
        self._believed.clear()
        self._gone.clear()
        self._file_since = now

    def on_lives_deleted(self) -> None:
        """Nobody can see any more who is dead: the leases decide."""
        self._gone.clear()

    def on_boot(self) -> None:
        """Another clock, and nobody alive."""
        self.on_another_file(0.0)
        self._ends.clear()

    def is_of_this_file(self, asked: float) -> bool:
        return asked > self._file_since

    # -- holders -----------------------------------------------------------------------------------------------------

    def on_asking(self, lease: Lease) -> float:
        """A call begins that may give it another end; returns the one it has."""
        before = self.end_of(lease)
        self._ends[lease] = math.inf
        self._gone.pop(lease, None)
        return before

    def on_asked(self, lease: Lease, before: float, end: float) -> None:
        """The call gave it this end, or has failed to."""
        self._ends[lease] = max(end, before)

    def on_acquired(self, lease: Lease, held: Lease | None, asked: float, answered: float) -> None:
        """`held` is what its process had of this name before."""
        if held is not None and held.epoch >= lease.epoch and self._believed.get(held, 0.0) > answered:
            raise Broken("rising", f"{lease} was given to the holder of {held}")
        self._on_held(lease, asked, answered)

    def on_renewed(self, lease: Lease, end_before: float, asked: float, wrote: float, answered: float) -> None:
        if end_before + SQLITES_TICK_S <= wrote:
            raise Broken("renewed-or-lost", f"{lease} was renewed at {wrote:.3f}, it had ended at {end_before:.3f}")
        self._on_held(lease, asked, answered)

    def _on_held(self, lease: Lease, asked: float, answered: float) -> None:
        self.acked += 1
        until = asked + lease.ttl_ms / 1000
        if until <= answered or not self.is_of_this_file(asked):
            return
        self._tenures.on_held(lease, asked, answered)
        self._believed[lease] = until

    def on_lost(self, lease: Lease, asked: float, answered: float) -> None:
        """As long again as the call took: its two clocks are not read at one moment."""
        if self._believed.get(lease, 0.0) > answered + (answered - asked) and self.is_of_this_file(asked):
            raise Broken("renewed-or-lost", f"{lease} was lost at {answered:.3f}, it ends at {self._ends[lease]:.3f}")
        self.on_given_up(lease)

    def end_of(self, lease: Lease) -> float:
        return self._ends.get(lease, 0.0)

    def on_given_up(self, lease: Lease) -> None:
        """Its holder believes in it no longer."""
        self._tenures.on_gone(lease)
        self._believed.pop(lease, None)

    def on_gone(self, lease: Lease) -> None:
        """Released, or its process is dead and everybody can see it."""
        self._gone[lease] = None

    # -- those who ask -----------------------------------------------------------------------------------------------

    def believed(self) -> dict[Lease, float]:
        return dict(self._believed)

    def on_seen(
        self, seen: Mapping[str, Lease], before: Mapping[Lease, float], asked: float, answered: float, opened: float
    ) -> None:
        """`before` is what was believed when the call began, `opened` when its process last looked for the file."""
        for lease in seen.values():
            if self.end_of(lease) <= asked:
                raise Broken("dead-is-seen", f"{lease} was named at {asked:.3f}, it ended at {self.end_of(lease):.3f}")
            if lease in self._gone and self.is_of_this_file(opened):
                raise Broken("dead-is-seen", f"{lease} was named at {asked:.3f}, its holder is gone")
        if not self.is_of_this_file(opened):
            return
        for lease, until in before.items():
            if until > answered and lease in self._believed and not _is_seen(lease, seen.get(lease.name)):
                raise Broken("alive-is-seen", f"{lease} ends at {until:.3f}, at {answered:.3f} there was {dict(seen)}")


def _is_seen(lease: Lease, seen: Lease | None) -> bool:
    """Its holder may be about to step over it: that is in the file before it is answered."""
    return seen is not None and seen.holder == lease.holder and seen.epoch >= lease.epoch
