"""Followers in sync that stand still while the leader waits for them, and how long those stay outside afterwards.

A follower that is behind and whose end has not moved from one look to the next stands still for the time between the
looks; any movement starts it anew, however slow. A look counts for a second at most: a leader that stood still itself
must not take its followers for the ones that did. A follower that stalls again and again is kept out for twice as long
each time, so that every one of its pauses does not cost the producers theirs.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

LOOK_SECONDS_MAX: Final = 1.0
KEPT_OUT_SECONDS: Final = 1.0
KEPT_OUT_SECONDS_MAX: Final = 16.0
FORGOTTEN_SECONDS: Final = 60.0


class Standing(NamedTuple):
    end_offset: int
    seconds: float


class KeptOut(NamedTuple):
    seconds: float
    until: float


class Stalls:
    __slots__ = ("_kept_out", "_looked_at", "_standing")

    def __init__(self, now: float) -> None:
        self._looked_at = now
        self._standing: dict[int, Standing] = {}
        self._kept_out: dict[int, KeptOut] = {}

    def look(self, behind: Mapping[int, int], seconds_max: float, now: float) -> list[int]:
        """The followers among `behind` (their end offsets by id) that have stood still for `seconds_max`."""
        elapsed = min(now - self._looked_at, LOOK_SECONDS_MAX)
        self._looked_at = now
        before, self._standing = self._standing, {}
        for follower, end_offset in behind.items():
            known = before.get(follower)
            moved = known is None or known.end_offset != end_offset
            self._standing[follower] = Standing(end_offset, 0.0 if known is None or moved else known.seconds + elapsed)
        return [follower for follower, standing in self._standing.items() if standing.seconds >= seconds_max]

    def keep_out(self, followers: Iterable[int], now: float) -> None:
        for follower in followers:
            before = self._kept_out.get(follower)
            seconds = KEPT_OUT_SECONDS
            if before is not None and now - before.until < FORGOTTEN_SECONDS:
                seconds = min(2 * before.seconds, KEPT_OUT_SECONDS_MAX)
            self._kept_out[follower] = KeptOut(seconds, now + seconds)

    def is_kept_out(self, follower: int, now: float) -> bool:
        known = self._kept_out.get(follower)
        return known is not None and now < known.until
