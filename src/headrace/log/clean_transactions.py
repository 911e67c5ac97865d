"""The transactions as compaction sees them: whose records were aborted, and which markers have nothing left to mark.

Both are asked about every batch in the order of the log, as a consumer learns of them.

A commit's marker stays while a record of its transaction does, and `delete.retention.ms` longer, for readers that are
in the midst of it, and while a replica is away that may lack it; and the last one of a producer that is still
remembered stays, since it alone may tell its epoch. An abort's marker always stays: readers are told where aborted
transactions began, and skip all of that producer until its marker.
"""

from collections.abc import Collection, Mapping

from headrace.log.clean_batch import CleanRules, with_horizon
from headrace.log.transactions import marker_of
from headrace.wire.batch import DELETE_HORIZON, BatchHeader


class AbortedReader:
    """Tells of each batch, in log order, whether its transaction was aborted."""

    def __init__(self, aborted: list[tuple[int, int]]) -> None:
        self._ahead = sorted(aborted, key=lambda each: each[1])
        self._at = 0
        self._open: set[int] = set()

    def is_aborted(self, header: BatchHeader, batch: bytes) -> bool:
        if not self._ahead:
            return False
        while self._at < len(self._ahead) and self._ahead[self._at][1] <= header.last_offset:
            self._open.add(self._ahead[self._at][0])
            self._at += 1
        if header.is_control:
            marker = marker_of(batch)
            if marker is not None and not marker.commit:
                self._open.discard(header.producer_id)
            return False
        return header.is_transactional and header.producer_id in self._open


class CleanedMarkers:
    """`later`: producer id → a marker of it in the dirty part. `live`: the producers that the log remembers."""

    def __init__(self, later: Mapping[int, int], live: Collection[int]) -> None:
        self._later = later
        self._live = live
        self._with_records: set[int] = set()

    def on_kept(self, header: BatchHeader) -> None:
        """Notes that records of this batch stay, so its transaction's marker stays too."""
        if header.is_transactional:
            self._with_records.add(header.producer_id)

    def what_is_left(self, header: BatchHeader, batch: bytes, rules: CleanRules) -> bytes:
        """The control batch itself while it is needed, with a delete horizon or without; b"" once it may go."""
        producer_id = header.producer_id
        has_records = producer_id in self._with_records
        self._with_records.discard(producer_id)
        if header.record_count == 0:
            return b""
        if has_records or header.next_offset > rules.mapped_end or not _commits(batch):
            return batch
        if not header.attributes & DELETE_HORIZON:
            return with_horizon(header, batch, rules)
        if not rules.is_over(header):
            return batch
        is_last = producer_id in self._live and self._later.get(producer_id, -1) <= header.base_offset
        return batch if is_last else b""


def _commits(batch: bytes) -> bool:
    marker = marker_of(batch)
    return marker is not None and marker.commit
