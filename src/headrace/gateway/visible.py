"""Fetched batches as the records a reader may see: from its offset on, without markers and aborted transactions.

What is skipped still moves the reader on: `next_offset` is where the next fetch begins, records or not.
"""

from collections.abc import Iterator

from headrace.client.cluster_client import Fetched
from headrace.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader, iter_headers
from headrace.wire.records import Record, iter_records, read_marker


class VisibleRecords:
    """Iterated once. After each record, and at the end, `next_offset` is true."""

    def __init__(self, fetched: Fetched, offset: int) -> None:
        self._fetched = fetched
        self._aborted = list(fetched.aborted)
        self._aborting: set[int] = set()
        self.next_offset = offset

    def __iter__(self) -> Iterator[Record]:
        for _, batch in self.batches():
            for record in iter_records(batch, self.next_offset):
                self.next_offset = record.offset + 1
                yield record

    def batches(self) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Those that hold such records, to be opened elsewhere; `next_offset` moves on when the next one is asked for."""
        batches = self._fetched.batches
        for position, header in iter_headers(batches):
            batch = batches[position : position + header.size]
            if not header.attributes & (CONTROL | TRANSACTIONAL) or not self._is_hidden(batch, header):
                yield header, batch
            self.next_offset = max(self.next_offset, header.next_offset)

    def _is_hidden(self, batch: memoryview, header: BatchHeader) -> bool:
        while self._aborted and self._aborted[0].first_offset <= header.last_offset:
            self._aborting.add(self._aborted.pop(0).producer_id)
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.commit:
                self._aborting.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._aborting
