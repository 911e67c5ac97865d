"""Producers' batches that were refused a moment ago, so that those behind them do not pay for it.

Producers send several batches ahead. One may be refused (too few replicas, or its new leader has not heard of the partition
yet), and the cause may pass before the next one is looked at. Then the next batch

    of a producer that is unknown here   would be taken for its first, and the order would be lost
    of a producer that is known          would be called a gap, at which some clients give up their transaction

So, where the cause may pass, it gets a retriable code, which makes every client send all of them again, in order. That
counts for a second after the first batch was last refused, or another one behind it for the first time: each may wait for a
coordinator before it is looked at. A client that gives a batch up goes on with a new epoch, or after this second.

Answers leave in the order of the batches. While a batch of the producer is in the log and not committed, its answer is owed,
and the client cannot have heard of the refusal behind it: the second begins after that, with the next batch that comes (as
in `grace`).
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
            # The refused batch is here, or has been. If it is refused again, a new second begins.
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
    verdict = log.state.check(header, log.config.producers_max)
    return isinstance(verdict, Duplicate) or (
        verdict is None and log.state.producers.get(header.producer_id) is not None
    )


def _header_of(records: memoryview | None) -> BatchHeader | None:
    """The header of a refused batch, which may be any bytes; None if it has none."""
    if records is None or len(records) < HEADER_SIZE:
        return None
    try:
        return parse_header(records)
    except CorruptBatch:
        return None
