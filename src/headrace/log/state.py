"""The state that batch headers and markers make of a log: its producers, transactions and leader epochs.

Invariant: a state is a function of the headers below some offset, so it may be dropped and replayed at any time; a
snapshot is a state with that offset, and saves the replay.
"""

import struct

from headrace.log.envelope import unwrap, wrap
from headrace.log.epochs import Epochs
from headrace.log.producers import NO_COORDINATOR, Producers, Verdict
from headrace.log.transactions import LogTransactions
from headrace.wire.batch import TRANSACTIONAL, BatchHeader
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker

_MAGIC, VERSION = b"HRst", 2
# 32 MiB of aborted transactions. They go with their part of the log, or when it is compacted.
ABORTED_MAX = 1 << 20
_HEAD = struct.Struct(">qII")


class LogState:
    __slots__ = ("epochs", "producers", "transactions")

    def __init__(
        self,
        producers: Producers | None = None,
        epochs: Epochs | None = None,
        transactions: LogTransactions | None = None,
    ) -> None:
        self.producers = producers if producers is not None else Producers()
        self.epochs = epochs if epochs is not None else Epochs()
        self.transactions = transactions if transactions is not None else LogTransactions()

    def apply(self, header: BatchHeader, now_ms: int, marker: Marker | None = None) -> None:
        """Takes in a batch header; for a control batch `marker` is its content, which the header alone lacks."""
        if header.producer_id >= 0:
            self.producers.record(header, now_ms, NO_COORDINATOR if marker is None else marker.coordinator_epoch)
            if header.attributes & TRANSACTIONAL:
                self.transactions.apply(header, marker)
        if header.leader_epoch > self.epochs.latest:
            self.epochs.begin(header.leader_epoch, header.base_offset)

    def check(self, header: BatchHeader, producers_max: int) -> Verdict:
        """None for a batch that comes next; its original, for a duplicate; otherwise the code to refuse it with."""
        verdict = self.producers.check(header)
        if verdict is None and header.producer_id not in self.transactions.open:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED if self._is_full(header, producers_max) else None
        if verdict is None and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return verdict

    def _is_full(self, header: BatchHeader, producers_max: int) -> bool:
        """Whether no more can be remembered for this producer, which has no transaction open."""
        transactions = self.transactions
        if header.attributes & TRANSACTIONAL and len(transactions.aborted) >= ABORTED_MAX:
            return True
        return len(transactions.open) >= producers_max and self.producers.get(header.producer_id) is None

    def forget_surplus(self, producers_max: int) -> None:
        if len(self.producers) > producers_max:
            self.producers.forget_surplus(producers_max, self.transactions.open)

    def trim_start(self, start_offset: int) -> None:
        self.epochs.trim_start(start_offset)
        self.transactions.aborted.trim_start(start_offset)

    def encode(self, offset: int) -> bytes:
        epochs, producers = self.epochs.encode(), self.producers.encode()
        head = _HEAD.pack(offset, len(epochs), len(producers))
        return wrap(_MAGIC, VERSION, b"".join((head, epochs, producers, self.transactions.encode())))

    @classmethod
    def decode(cls, content: bytes, offset: int) -> "LogState | None":
        """The state in a snapshot file; None when it is damaged, or of another offset than the file's name says."""
        unwrapped = unwrap(_MAGIC, VERSION, content)
        if unwrapped is None:
            return None
        stated_offset, epochs_bytes, producers_bytes = _HEAD.unpack_from(unwrapped)
        if stated_offset != offset:
            return None
        body = unwrapped[_HEAD.size :]
        producers_end = epochs_bytes + producers_bytes
        return cls(
            Producers.decode(body[epochs_bytes:producers_end]),
            Epochs.decode(body[:epochs_bytes]),
            LogTransactions.decode(body[producers_end:]),
        )
