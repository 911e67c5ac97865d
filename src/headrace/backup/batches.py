"""The batches of a backup as they are written to the new topic: what was committed, at its old offsets. Pure.

Markers and aborted transactions go; what is left is as plain as if it had never been part of a transaction. The offsets
of what went, and of what compaction had left out before, become the end of the batch before them: as compaction leaves a
batch. Those before the first batch, which retention has deleted, are a batch without records, and are deleted again.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from headrace.client.aborted_transactions import AbortedTransactions
from headrace.client.cluster_client import AbortedRecords
from headrace.wire.batch import HEADER, HEADER_SIZE, LENGTH_END, MAGIC, TRANSACTIONAL, BatchHeader, Identity, seal

SPAN_MAX: Final = (1 << 31) - 1
"""Offsets that one batch may take."""
_SEQUENCES: Final = 1 << 31
_NO_TIME: Final = -1


class Restorable(NamedTuple):
    """A batch and the offsets [first, next) that it is to take."""

    first: int
    next: int
    header: BatchHeader
    content: bytes

    def to_bytes(self, producer: Identity, sequence: int) -> bytearray:
        """The batch in a producer's form: without an offset, with this producer's identity."""
        batch = bytearray(self.content)
        header = self.header._replace(
            base_offset=0,
            leader_epoch=-1,
            attributes=self.header.attributes & ~TRANSACTIONAL,
            last_offset_delta=self.next - self.first - 1,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=sequence,
        )
        seal(batch, header)
        return batch


def restorable(
    batches: Iterable[tuple[BatchHeader, bytes]], aborted: Iterable[AbortedRecords], end: int
) -> Iterator[Restorable]:
    """Batches that together take all offsets from 0 to `end`."""
    held: Restorable | None = None
    for header, content in visible(batches, aborted):
        if held is not None:
            yield from _stretched(held, header.base_offset)
        else:
            yield from _empty(0, header.base_offset)
        held = Restorable(header.base_offset, header.next_offset, header, content)
    if held is None:
        yield from _empty(0, end)
    else:
        yield from _stretched(held, max(end, held.next))


def visible(
    batches: Iterable[tuple[BatchHeader, bytes]], aborted: Iterable[AbortedRecords]
) -> Iterator[tuple[BatchHeader, bytes]]:
    transactions = AbortedTransactions(aborted)
    for header, content in batches:
        if not transactions.hide(content, header):
            yield header, content


def _stretched(batch: Restorable, to: int) -> Iterator[Restorable]:
    next = min(to, batch.first + SPAN_MAX)
    yield batch._replace(next=next)
    yield from _empty(next, to)


def _empty(first: int, next: int) -> Iterator[Restorable]:
    while first < next:
        span = min(next - first, SPAN_MAX)
        header = BatchHeader(
            first, HEADER_SIZE - LENGTH_END, -1, MAGIC, 0, 0, span - 1, _NO_TIME, _NO_TIME, -1, -1, -1, record_count=0
        )
        yield Restorable(first, first + span, header, HEADER.pack(*header))
        first += span


def next_sequence(sequence: int, batch: Restorable) -> int:
    """The sequence after this batch; after the largest comes 0."""
    return (sequence + batch.next - batch.first) % _SEQUENCES
