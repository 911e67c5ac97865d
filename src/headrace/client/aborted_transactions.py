"""Batches that a read_committed reader passes over: markers, and those of aborted transactions.

A broker lists the aborted transactions of a stretch of its log by producer and first offset; where each ends, its marker
says. So batches are asked about in their order, each once.
"""

from collections.abc import Iterable

from headrace.client.cluster_client import AbortedRecords
from headrace.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader, Bytes
from headrace.wire.records import read_marker


class AbortedTransactions:
    def __init__(self, aborted: Iterable[AbortedRecords]) -> None:
        self._to_come = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._open: set[int] = set()
        """Producers whose batches are of an aborted transaction now."""

    def hide(self, batch: Bytes, header: BatchHeader) -> bool:
        if not header.attributes & (CONTROL | TRANSACTIONAL):
            return False
        while self._to_come and self._to_come[-1].first_offset <= header.last_offset:
            self._open.add(self._to_come.pop().producer_id)
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.commit:
                self._open.discard(header.producer_id)
            return True
        return header.producer_id in self._open
