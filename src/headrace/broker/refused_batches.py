"""Producers' batches that were refused a moment ago, so that those behind them do not pay for it.

A producer sends on while a batch is on its way. If that one is refused, for want of replicas or because its new leader has
not heard of it yet, and the cause passes before the next one is looked at, then the next one

    of a producer that is not known here   must not be taken for its first: the order would be lost
    of one that is                         is no gap of the client's making: it is to come again, behind the first

Some clients give up a transaction, or what they have not sent yet, when they hear of a gap. So the answer is one that makes
all of them send again, in order. Remembered for a moment only, from the last time that the first was refused: what is on its
way comes within one. Who gives up a batch goes on with a new epoch, or after this moment.
"""

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.log.log import Log
from headrace.log.producers import Duplicate
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header
from headrace.wire.codes import CODES, ErrorCode

REMEMBERED_SECONDS = 1.0
REMEMBERED_MAX = 10_000

Place = tuple[str | bytes, int]
"""A topic as the producer calls it, for it may not be known here yet, and the partition's index."""


class RefusedBatches:
    __slots__ = ("_refused",)

    def __init__(self) -> None:
        # By place, producer and epoch, the oldest first: sequence, code, until when it is remembered.
        self._refused: dict[tuple[Place, int, int], tuple[int, int, float]] = {}

    def __len__(self) -> int:
        return len(self._refused)

    def note(self, place: Place, records: memoryview | None, code: int, now: Now) -> None:
        header = _header_of(records)
        if header is None or header.producer_id < 0:
            return
        self._forget(now)
        key = place, header.producer_id, header.producer_epoch
        known = self._refused.get(key)
        if known is not None and known[0] < header.base_sequence:
            # Of the first alone the time counts: who has given it up must not wait for ever because of what follows.
            return
        self._refused.pop(key, None)
        if len(self._refused) >= REMEMBERED_MAX:
            del self._refused[next(iter(self._refused))]
        self._refused[key] = header.base_sequence, code, now.mono + REMEMBERED_SECONDS

    def check(self, place: Place, records: memoryview | None, log: Log, now: Now) -> None:
        """Refuses a batch that came after one that was refused and has not come again."""
        self._forget(now)
        header = _header_of(records)
        known = None if header is None else self._refused.get((place, header.producer_id, header.producer_epoch))
        if header is None or known is None:
            return
        sequence, code, _ = known
        if header.base_sequence <= sequence or _follows(header, log):
            return
        cause = CODES[code]
        again = ErrorCode.NOT_ENOUGH_REPLICAS if cause.retriable else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        raise Refused(again, f"the batch before this one was refused ({cause.name}) and has to come first")

    def _forget(self, now: Now) -> None:
        while self._refused:
            key, (*_, until) = next(iter(self._refused.items()))
            if until > now.mono:
                return
            del self._refused[key]


def _follows(header: BatchHeader, log: Log) -> bool:
    """Whether the log has what comes before this batch, or the batch itself."""
    verdict = log.check_producer(header)
    return isinstance(verdict, Duplicate) or (verdict is None and log.producer(header.producer_id) is not None)


def _header_of(records: memoryview | None) -> BatchHeader | None:
    """Of a batch that may be anything: it was not let in."""
    if records is None or len(records) < HEADER_SIZE:
        return None
    try:
        return parse_header(records)
    except CorruptBatch:
        return None
