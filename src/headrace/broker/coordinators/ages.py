"""The ages of things that a coordinator may forget: their stamps come from another broker's clock, and one of the two may
be wrong."""

from headrace.base.clock import Clock, Now
from headrace.broker.upkeep.credible_time import DOUBT_SECONDS, CredibleTime


class Ages:
    def __init__(self, clock: Clock, credible_time: CredibleTime) -> None:
        self._clock = clock
        self._credible_time = credible_time
        self._began_at = clock.mono()

    def are_known(self, kept_ms: int) -> bool:
        """Whether ages of things kept this long are known. In the first hour of a coordinator they are not."""
        return self._clock.mono() - self._began_at >= min(kept_ms / 1000, DOUBT_SECONDS)

    def now(self, now: Now) -> Now:
        """The time to forget by."""
        return self._credible_time.of(now)
