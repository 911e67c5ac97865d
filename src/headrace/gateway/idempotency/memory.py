"""The bound on what all callers of a gateway have it remember of their requests, and the share of one of them."""

import time
from collections.abc import Sequence

from headrace.gateway.idempotency.slot import Slot

CALLER_SHARE = 4


class Memory:
    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._callers: list[Sequence[Slot]] = []

    def join(self, slots: Sequence[Slot]) -> None:
        self._callers.append(slots)

    def leave(self, slots: Sequence[Slot]) -> None:
        self._callers = [each for each in self._callers if each is not slots]

    def has_room(self, slots: Sequence[Slot], has_share: bool) -> bool:
        """Whether another key fits the limit. Keys that others stored are remembered in any case: a forgotten one is
        stored twice.
        """
        if self._fits(slots, has_share):
            return True
        now_ms = int(time.time() * 1000)
        for each in self._all:
            # Those of slots that nobody asks any more too.
            each.entries.forget_old(now_ms)
        return self._fits(slots, has_share)

    def _fits(self, slots: Sequence[Slot], has_share: bool) -> bool:
        share = self._bytes_max // CALLER_SHARE if has_share else self._bytes_max
        return _bytes(slots) < share and _bytes(self._all) < self._bytes_max

    @property
    def _all(self) -> list[Slot]:
        return [slot for slots in self._callers for slot in slots]


def _bytes(slots: Sequence[Slot]) -> int:
    return sum(each.entries.bytes for each in slots)
