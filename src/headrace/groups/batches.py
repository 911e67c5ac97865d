"""The groups of one partition in the batches of its log: decisions become batches, and are applied or replayed from them."""

from typing import Any

from headrace.base.clock import Now
from headrace.groups.commits import TransactionalCommit
from headrace.groups.coordinator import Groups
from headrace.groups.outcome import GroupOutcome
from headrace.groups.records import decode, encode
from headrace.groups.refusals import refused, refused_commit
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record, build_batch, read_marker, read_records
from headrace.wire.schema import Response


class GroupBatches:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def replay(self, batch: memoryview, header: BatchHeader) -> None:
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                self._groups.end_transaction(header.producer_id, marker.commit)
            return
        for record in read_records(batch):
            decoded = decode(record.key, record.value)
            if decoded is None:
                continue
            if header.is_transactional:
                self._groups.apply_pending(header.producer_id, decoded)
            else:
                self._groups.apply(decoded)

    def on_gap(self) -> None:
        self._groups.table.is_whole = False

    def batch_of(self, outcome: GroupOutcome, now: Now) -> bytes:
        pairs = [encode(record) for record in outcome.records]
        records = [Record(timestamp=now.wall, key=key, value=value) for key, value in pairs]
        if outcome.producer is None:
            return build_batch(records)
        producer_id, epoch = outcome.producer
        return build_batch(records, producer_id=producer_id, producer_epoch=epoch, transactional=True)

    def apply(self, outcome: GroupOutcome) -> None:
        for record in outcome.records:
            if outcome.producer is None:
                self._groups.apply(record)
            else:
                self._groups.apply_pending(outcome.producer[0], record)

    def refusal(self, request: Any, version: int, code: ErrorCode) -> Response:
        if isinstance(request, TransactionalCommit):
            return refused_commit(request.commit, code)
        return refused(request, version, code)
