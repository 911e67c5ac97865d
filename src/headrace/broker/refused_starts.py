"""First batches of producers that a partition does not know, and that it has just refused.

A producer sends on while a batch is on its way. If its very first one is refused, for want of replicas say, and the cause
passes before the next one is looked at, that one must not be taken for its first: the order would be lost, and the first,
sent again, would look like a gap. (What begins in the middle is taken otherwise: a producer may have been forgotten.)

Remembered for a moment only, as what is on its way comes within one. A client that gives up a batch goes on with a new
epoch, or after this moment.
"""

from headrace.base.clock import Now
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header

REMEMBERED_SECONDS = 1.0
REMEMBERED_MAX = 1000


class RefusedStarts:
    __slots__ = ("_refused",)

    def __init__(self) -> None:
        self._refused: dict[int, tuple[int, int, float]] = {}

    def __len__(self) -> int:
        return len(self._refused)

    def note(self, header: BatchHeader, now: Now) -> None:
        known = self._refused.get(header.producer_id)
        if known is not None and known[:2] <= (header.producer_epoch, header.base_sequence) and known[2] > now.mono:
            return
        self._refused.pop(header.producer_id, None)
        if len(self._refused) >= REMEMBERED_MAX:
            del self._refused[next(iter(self._refused))]
        until = now.mono + REMEMBERED_SECONDS
        self._refused[header.producer_id] = header.producer_epoch, header.base_sequence, until

    def is_jump(self, header: BatchHeader, now: Now) -> bool:
        """Whether this batch, of a producer that is not known, comes after one that was refused."""
        known = self._refused.get(header.producer_id)
        if known is None:
            return False
        epoch, sequence, until = known
        if header.producer_epoch == epoch and header.base_sequence > sequence and now.mono < until:
            return True
        del self._refused[header.producer_id]
        return False


def header_of(records: memoryview | None) -> BatchHeader | None:
    """Of a batch that may be anything: it was not let in."""
    if records is None or len(records) < HEADER_SIZE:
        return None
    try:
        return parse_header(records)
    except CorruptBatch:
        return None
