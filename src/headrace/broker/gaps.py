"""Batches that do not follow what the log has of their producer, while the leader of a partition is a new one.

A client that hears of a new leader sends on to it, while what it sent before is still on its way to the leader before: that
one will refuse it, and then it comes here, in order. Until then the next batch is a gap that nobody made. To call it one
would cost some clients their transaction; to take it for the first of a producer that is not known here yet would lose its
place to it. So for a moment it is to come again.
"""

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode

# For so long a leader is a new one: clients look for leaders when they meet trouble, and trouble has a time-out.
NEW_SECONDS = 30.0
MOMENT_SECONDS = 1.0
KNOWN_MAX = 1000


class Gaps:
    """Of one partition. The moment of a producer begins with its first gap, and is over when it wrote again."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: dict[tuple[int, int], float] = {}

    def __len__(self) -> int:
        return len(self._since)

    def excuse(self, header: BatchHeader, now: Now) -> None:
        """Refused with what makes every client send again, and in order; or nothing, when the moment is over."""
        key = header.producer_id, header.producer_epoch
        if key not in self._since:
            if len(self._since) >= KNOWN_MAX:
                # Nobody's moment is made longer for others, and nobody's memory larger.
                return
            self._since[key] = now.mono
        if now.mono < self._since[key] + MOMENT_SECONDS:
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "the batches before this one may be at the leader before")

    def on_append(self, header: BatchHeader) -> None:
        self._since.pop((header.producer_id, header.producer_epoch), None)
