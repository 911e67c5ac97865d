"""Batches that do not follow what the log has of their producer, while the leader of a partition is a new one.

A client that hears of a new leader sends on to it, while what it sent before is still on its way to the leader before: that
one will refuse it, and then it comes here, in order. Until then the next batch is a gap that nobody made. To call it one
would cost some clients their transaction; to take it for the first of a producer that is not known here yet would lose its
place to it. So for a moment it is to come again.

Answers come in the order of the batches. While one that this leader has of the producer is not committed, its answer is
owed, and the client cannot know yet that anything behind it was refused: it sends on. So the moment begins after that, with
the next batch that comes.
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
    """Of one partition. The moment of a producer begins with its first gap while no answer is owed to it, and is over
    when it wrote again."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        # By producer and epoch; None while an answer is owed, and the moment has not begun.
        self._since: dict[tuple[int, int], float | None] = {}

    def __len__(self) -> int:
        return len(self._since)

    def excuse(self, header: BatchHeader, is_owed: bool, now: Now) -> None:
        """Refused with what makes every client send again, and in order; or nothing, when the moment is over.

        `is_owed` says that a batch of this producer is in the log and not committed."""
        key = header.producer_id, header.producer_epoch
        since = self._since.get(key)
        if since is None:
            if key not in self._since and len(self._since) >= KNOWN_MAX:
                # Nobody's moment is made longer for others, and nobody's memory larger.
                return
            since = self._since[key] = None if is_owed else now.mono
        if since is None or now.mono < since + MOMENT_SECONDS:
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "the batches before this one may be at the leader before")

    def on_append(self, header: BatchHeader) -> None:
        self._since.pop((header.producer_id, header.producer_epoch), None)
