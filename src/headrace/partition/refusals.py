"""Producers' batches that were refused a moment ago, so that those behind them do not pay for it.

A producer sends on while a batch is on its way. If that one is refused, for want of replicas or because its new leader has
not heard of it yet, and the cause passes before the next one is looked at, then the next one

    of a producer that is not known here   must not be taken for its first: the order would be lost
    of one that is                         is no gap of the client's making: it is to come again, behind the first

Some clients give up a transaction, or what they have not sent yet, when they hear of a gap. So the answer is one that makes
all of them send again, in order. It counts for what comes within a moment of the last time that the first was refused, or
one behind it for the first time: each may wait for a coordinator before it is looked at. Who gives up a batch goes on with
a new epoch, or after this moment.

Answers come in the order of the batches. While one of the producer is in the log and not committed, its answer is owed, and
the client cannot have heard of the refusal behind it: the moment begins after that, with the next batch that comes (as in
`grace`).
"""

from typing import NamedTuple

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.log.log import Log
from headrace.log.producers import Duplicate
from headrace.partition.partition import Partition
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header
from headrace.wire.codes import CODES, ErrorCode

REMEMBERED_SECONDS = 1.0
# A batch that came within the moment may wait for so long before it is looked at.
KEPT_SECONDS = 30.0
REMEMBERED_MAX = 10_000

Place = tuple[str | bytes, int]
"""A topic as the producer calls it, for it may not be known here yet, and the partition's index."""


class _Refusal(NamedTuple):
    sequence: int
    highest: int
    """The highest sequence of the batches refused behind it."""
    code: int
    at: float
    """When it was last refused, or a batch behind it for the first time."""
    until: float | None
    """The end of the moment: a batch that comes later is no longer on the way. None while an answer is owed, as it has
    not begun.
    """


class RefusedBatches:
    __slots__ = ("_refused",)

    def __init__(self) -> None:
        # By place, producer and epoch, the oldest first.
        self._refused: dict[tuple[Place, int, int], _Refusal] = {}

    def __len__(self) -> int:
        return len(self._refused)

    def note(self, place: Place, records: memoryview | None, code: int, partition: Partition | None, now: Now) -> None:
        """`partition` is None where the place is not hosted here."""
        header = _header_of(records)
        if header is None or header.producer_id < 0:
            return
        self._forget(now)
        key = place, header.producer_id, header.producer_epoch
        sequence, until = header.base_sequence, _end_of_moment(header, partition, now)
        refusal = _Refusal(sequence, sequence, code, now.mono, until)
        known = self._refused.get(key)
        if known is not None and known.sequence < sequence:
            # Each of those behind counts once: who has given up the first must not wait for ever because of them.
            if sequence <= known.highest or not CODES[code].retriable:
                return
            refusal = known._replace(highest=sequence, at=now.mono, until=until)
        elif known is not None:
            refusal = refusal._replace(highest=known.highest)
        self._remember(key, refusal)

    def _remember(self, key: tuple[Place, int, int], refusal: _Refusal) -> None:
        self._refused.pop(key, None)
        if len(self._refused) >= REMEMBERED_MAX:
            del self._refused[next(iter(self._refused))]
        self._refused[key] = refusal

    def check(self, place: Place, records: memoryview | None, partition: Partition, came: Now) -> None:
        """Refuses a batch that came after one that was refused and has not come again."""
        self._forget(came)
        header = _header_of(records)
        if header is None:
            return
        key = place, header.producer_id, header.producer_epoch
        known = self._refused.get(key)
        if known is None or header.base_sequence < known.sequence:
            return
        if header.base_sequence == known.sequence or _follows(header, partition.log):
            # What was refused is here, or has been. If it is refused again, that begins anew.
            del self._refused[key]
            return
        if known.until is None:
            # Begins now, unless an answer is owed still.
            known = known._replace(until=_end_of_moment(header, partition, came))
            self._refused[key] = known
        if known.until is not None and came.mono >= known.until:
            return
        cause = CODES[known.code]
        again = ErrorCode.NOT_ENOUGH_REPLICAS if cause.retriable else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        raise Refused(again, f"the batch before this one was refused ({cause.name}) and has to come first")

    def _forget(self, now: Now) -> None:
        while self._refused:
            key, refusal = next(iter(self._refused.items()))
            if refusal.at + REMEMBERED_SECONDS + KEPT_SECONDS > now.mono:
                return
            del self._refused[key]


def _end_of_moment(header: BatchHeader, partition: Partition | None, now: Now) -> float | None:
    is_owed = partition is not None and partition.is_leader and partition.sequences.owes(header.producer_id)
    return None if is_owed else now.mono + REMEMBERED_SECONDS


def _follows(header: BatchHeader, log: Log) -> bool:
    """Whether the log has what comes before this batch, or the batch itself."""
    verdict = log.check_producer(header)
    return isinstance(verdict, Duplicate) or (verdict is None and log.producer(header.producer_id) is not None)


def _header_of(records: memoryview | None) -> BatchHeader | None:
    """The header of a refused batch, which may be any bytes; None if it has none."""
    if records is None or len(records) < HEADER_SIZE:
        return None
    try:
        return parse_header(records)
    except CorruptBatch:
        return None
