"""The transactional ids of one partition in the batches of its log: decisions become batches, and are applied or replayed
from them."""

from typing import Any

from headrace.base.clock import Now
from headrace.txns.coordinator import Transactions
from headrace.txns.outcome import TxnOutcome
from headrace.txns.questions import Answer
from headrace.txns.records import decode, encode
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record, build_batch, read_records


class TxnBatches:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def replay(self, batch: memoryview, header: BatchHeader) -> None:
        if header.is_control:
            return
        for record in read_records(batch):
            decoded = decode(record.key, record.value)
            if decoded is not None:
                self._transactions.apply(decoded)

    def on_gap(self) -> None:
        self._transactions.is_whole = False

    def batch_of(self, outcome: TxnOutcome, now: Now) -> bytes:
        pairs = [encode(record) for record in outcome.records]
        return build_batch([Record(timestamp=now.wall, key=key, value=value) for key, value in pairs])

    def apply(self, outcome: TxnOutcome) -> None:
        for record in outcome.records:
            self._transactions.apply(record)

    def refusal(self, request: Any, version: int, code: ErrorCode) -> Answer:
        return Answer(code)
