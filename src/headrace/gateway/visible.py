"""Fetched batches as the records a reader may see: from its offset on, without markers and aborted transactions.

What is skipped still moves the reader on: `next_offset` is where the next fetch begins, records or not.
"""

from collections.abc import Iterator

from headrace.client.aborted_transactions import AbortedTransactions
from headrace.client.cluster_client import Fetched
from headrace.wire.batch import BatchHeader, iter_headers
from headrace.wire.records import Record, iter_records


class VisibleRecords:
    """Iterated once. After each record, and at the end, `next_offset` is true."""

    def __init__(self, fetched: Fetched, offset: int) -> None:
        self._fetched = fetched
        self._aborted = AbortedTransactions(fetched.aborted)
        self.next_offset = offset

    def __iter__(self) -> Iterator[Record]:
        for _, batch in self.batches():
            for record in iter_records(batch, self.next_offset):
                self.next_offset = record.offset + 1
                yield record

    def batches(self) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Batches that hold visible records, to be opened elsewhere; `next_offset` moves on when the next one is asked
        for.
        """
        batches = self._fetched.batches
        for position, header in iter_headers(batches):
            batch = batches[position : position + header.size]
            if not self._aborted.hide(batch, header):
                yield header, batch
            self.next_offset = max(self.next_offset, header.next_offset)
