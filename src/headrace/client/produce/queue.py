"""Messages that wait for one partition, in order, and the one batch of it that is on its way. No I/O here.

A batch that was sent is kept as it is until its fate is known: sent again, with the same sequence, a broker that has it
stores it no second time. Giving one up that may have been stored ends the identity; the next batch begins a new one.
"""

from collections import deque

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.produce.encode import RecordBytes
from headrace.client.produce.receipt import Chunk
from headrace.client.produce.undelivered import timed_out
from headrace.client.retry import pause_seconds
from headrace.wire.batch import NOBODY, Identity
from headrace.wire.codes import ErrorCode

QUEUED_BATCH_BYTES_MAX = 1_000_000
_SEQUENCE_MASK = 0x7FFFFFFF


class Sealed:
    def __init__(self, data: bytearray, chunks: list[Chunk], count: int, now_ms: int) -> None:
        self.data = data
        self.chunks = chunks
        self.count = count
        self.now_ms = now_ms
        self.deadline = max(chunk.deadline for chunk in chunks)
        self.tries = 0
        self.may_be_stored = False
        self.error: Refused = timed_out()
        """The last error of this batch."""


class PartitionQueue:
    def __init__(self, id: TopicPartition, codec: int) -> None:
        self.id = id
        self.identity: Identity | None = None
        self.not_before = 0.0
        self._codec = codec
        self._former: Identity | None = None
        self._next_sequence = 0
        self._waiting: deque[Chunk] = deque()
        self._sealed: Sealed | None = None

    def __bool__(self) -> bool:
        return self._sealed is not None or bool(self._waiting)

    def add(self, chunk: Chunk) -> None:
        self._waiting.append(chunk)

    def needs_other(self, identity: Identity | None) -> bool:
        """An identity that was given up has sequences that a broker may remember."""
        return self.identity is None and identity == self._former

    def batch(self, identity: Identity | None, now_ms: int) -> Sealed:
        """The batch to send now: the last one again, or as much as fits of the waiting messages."""
        if self._sealed is None:
            self.identity = self.identity or identity or NOBODY
            self._sealed = self._seal(self.identity, now_ms)
        self._sealed.tries += 1
        return self._sealed

    def _seal(self, identity: Identity, now_ms: int) -> Sealed:
        records = RecordBytes(now_ms, QUEUED_BATCH_BYTES_MAX)
        chunks: list[Chunk] = []
        while self._waiting and not (chunks and self._waiting[0].is_alone):
            chunk = self._waiting.popleft()
            taken = records.add(chunk.messages)
            is_full = taken < len(chunk.messages)
            if is_full:
                chunk, rest = chunk.cut(taken)
                self._waiting.appendleft(rest)
            if taken:
                chunks.append(chunk)
            if is_full or chunk.is_alone:
                break
        return Sealed(records.sealed(identity, self._next_sequence, self._codec), chunks, records.count, now_ms)

    def on_stored(self, offset: int, append_ms: int) -> None:
        batch = self._open()
        self._next_sequence = (self._next_sequence + batch.count) & _SEQUENCE_MASK
        for chunk in batch.chunks:
            chunk.stored(self.id.partition, offset, batch.now_ms, append_ms)
            offset += len(chunk.indexes)

    def on_unsettled(self, error: Refused, now: float) -> None:
        """Tries a batch of unknown fate again after a pause, or gives it up when its time is over."""
        batch = self._sealed
        if batch is not None and now >= batch.deadline:
            self._give_up(error)
            return
        if batch is not None:
            batch.error = error
            # With this one it was not even looked at.
            batch.may_be_stored |= error.code != ErrorCode.NOT_ENOUGH_REPLICAS
        tries = batch.tries if batch is not None else 1
        self.not_before = now + pause_seconds(tries)

    def on_refused(self, error: Refused) -> None:
        """Fails the messages of the refused batch. Callers that shared it do not share the blame; one that is too large
        is halved.
        """
        batch = self._open()
        pieces = batch.chunks
        if len(pieces) == 1:
            if error.code != ErrorCode.MESSAGE_TOO_LARGE or batch.count == 1:
                pieces[0].failed(error)
                return
            pieces = [*pieces[0].cut(batch.count // 2)]
        for piece in reversed(pieces):
            piece.is_alone = True
            self._waiting.appendleft(piece)

    def on_unknown_identity(self, error: Refused) -> None:
        """The log has forgotten us, or lost what we wrote. What cannot be there yet is sent as somebody new."""
        assert self._sealed is not None, self.id
        if self._sealed.may_be_stored:
            self._give_up(error)
            return
        batch = self._open()
        self._begin_anew()
        self._waiting.extendleft(reversed(batch.chunks))

    def expire(self, now: float) -> None:
        """Fails messages past their deadline: never sent, or not sent again, as when a leader is gone and none follows."""
        if self._sealed is not None and self._sealed.deadline <= now:
            self._give_up(self._sealed.error)
        while self._waiting and self._waiting[0].deadline <= now:
            self._waiting.popleft().failed(timed_out())

    def fail(self, error: Refused) -> None:
        if self._sealed is not None:
            self._give_up(error)
        while self._waiting:
            self._waiting.popleft().failed(error)

    def _give_up(self, error: Refused) -> None:
        batch = self._open()
        if batch.tries:
            self._begin_anew()
        for chunk in batch.chunks:
            chunk.failed(error)

    def _begin_anew(self) -> None:
        self._former, self.identity, self._next_sequence = self.identity, None, 0

    def _open(self) -> Sealed:
        batch, self._sealed = self._sealed, None
        assert batch is not None, self.id
        self.not_before = 0.0
        return batch
