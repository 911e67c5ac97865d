"""The grace after a change of leader: for a second a gap in a producer's sequence is answered with a retriable code.

A client that hears of a new leader sends on to it, while earlier batches are still on their way to the former one. That
leader refuses them, and then they come here, in order. Until then the next batch looks like a gap. OUT_OF_ORDER would cost
some clients their transaction; taken for the first batch of a producer that is unknown here, it would lose the order. The
retriable code makes every client send again, in order.

Answers come in the order of the batches. While a batch that this leader has of the producer is not committed, its answer is
owed, and the client cannot know yet that anything behind it was refused: it sends on. So the second begins after that,
with the next batch that comes.
"""

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode

# How long a leader is a new one: clients look for leaders when they meet trouble, and trouble has a time-out.
NEW_SECONDS = 30.0
MOMENT_SECONDS = 1.0
KNOWN_MAX = 1000


class Grace:
    """The producers of one partition that are in their second of grace: from the first gap while no answer is owed, until
    the producer wrote again."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        # By producer and epoch; None while an answer is owed, and the second has not begun.
        self._since: dict[tuple[int, int], float | None] = {}

    def __len__(self) -> int:
        return len(self._since)

    def excuse(self, header: BatchHeader, is_owed: bool, now: Now) -> None:
        """Refuses the batch with an error that makes every client send again, in order, until the grace is over.

        `is_owed` says that a batch of this producer is in the log and not committed."""
        key = header.producer_id, header.producer_epoch
        since = self._since.get(key)
        if since is None:
            if key not in self._since and len(self._since) >= KNOWN_MAX:
                # Nobody's grace is made longer for others, and nobody's memory larger.
                return
            since = self._since[key] = None if is_owed else now.mono
        if since is None or now.mono < since + MOMENT_SECONDS:
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "the batches before this one may be at the leader before")

    def on_append(self, header: BatchHeader) -> None:
        self._since.pop((header.producer_id, header.producer_epoch), None)
