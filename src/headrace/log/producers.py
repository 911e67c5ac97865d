"""The last batches of each idempotent producer in this partition: enough to know a resend, a gap and a zombie.

Per producer id the epoch and its last five batches, since a client has at most five requests in flight, and the epoch
of the coordinator that ended its last transaction. Derived from batch headers and markers alone, so a follower that
appends them, and a recovery that replays them, reach the same state.

Invariant: the batches of one producer are in the order of the log and of one epoch. Producers are in the order in which
they last wrote, so the first is the one to forget when there are too many. A producer with an open transaction is never
forgotten. Does not wait, answer or append: it says what a batch is.
"""

import struct
from collections import deque
from collections.abc import Container, Iterator
from itertools import chain
from typing import NamedTuple

from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode

BATCHES_REMEMBERED = 5
SEQUENCE_MAX = (1 << 31) - 1
NO_SEQUENCE = -1
NO_COORDINATOR = -1

# A producer that an earlier life of the broker knew is remembered for this long again, whatever the clock says.
RESUMED_MS_MIN = 3_600_000

_PRODUCER = struct.Struct(">qhqiB")
_BATCH = struct.Struct(">iiqiq")
# A producer and all its batches in one: a snapshot is written between two appends, and there may be many of them.
_WHOLE = [struct.Struct(">qhqiB" + "iiqiq" * count) for count in range(BATCHES_REMEMBERED + 1)]


WrittenBatch = tuple[int, int, int, int, int]
"""First and last sequence, base offset, last offset delta, max timestamp: a bare tuple, as each append makes one."""


class Duplicate(NamedTuple):
    """A batch that is in the log already; it is acknowledged like its original, once `next_offset` is committed."""

    base_offset: int
    next_offset: int
    max_timestamp: int


Verdict = Duplicate | ErrorCode | None
"""None: append it. A code: refuse it."""


class ProducerState:
    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_seen_ms")

    def __init__(self, epoch: int, last_seen_ms: int) -> None:
        self.epoch = epoch
        self.last_seen_ms = last_seen_ms
        self.coordinator_epoch = NO_COORDINATOR
        self.batches: deque[WrittenBatch] = deque(maxlen=BATCHES_REMEMBERED)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1][1] if self.batches else NO_SEQUENCE


class Producers:
    __slots__ = ("_states",)

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}

    def __len__(self) -> int:
        return len(self._states)

    def get(self, producer_id: int) -> ProducerState | None:
        return self._states.get(producer_id)

    def items(self) -> Iterator[tuple[int, ProducerState]]:
        return iter(self._states.items())

    def check_epoch(self, producer_id: int, epoch: int) -> ErrorCode | None:
        """The error for a coordinator's batch, which has no sequence, if the producer's epoch is stale; else None."""
        state = self._states.get(producer_id)
        return ErrorCode.INVALID_PRODUCER_EPOCH if state is not None and epoch < state.epoch else None

    def check(self, header: BatchHeader) -> Verdict:
        state = self._states.get(header.producer_id)
        if state is None:
            # Expired or new: any first sequence is believed, else a producer idle for a day could never go on.
            return None
        if header.producer_epoch != state.epoch:
            if header.producer_epoch < state.epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH
            return None if header.base_sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        last = state.last_sequence
        if header.base_sequence == (last + 1 if last != SEQUENCE_MAX else 0):
            return None
        return _duplicate_of(header, state) or ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def record(self, header: BatchHeader, now_ms: int, coordinator_epoch: int = NO_COORDINATOR) -> None:
        """Takes in a batch that is in the log, and so is true, whatever was known before."""
        state = self._states.pop(header.producer_id, None)
        if state is None:
            state = ProducerState(header.producer_epoch, now_ms)
        elif state.epoch != header.producer_epoch:
            state.epoch = header.producer_epoch
            state.batches.clear()
        self._states[header.producer_id] = state
        state.last_seen_ms = now_ms
        first = header.base_sequence
        if first < 0:
            # A marker, or offsets that a group commits in a transaction: it carries the epoch and no sequence.
            if coordinator_epoch > state.coordinator_epoch:
                state.coordinator_epoch = coordinator_epoch
            return
        delta = header.last_offset_delta
        last = (first + delta) & SEQUENCE_MAX
        state.batches.append((first, last, header.base_offset, delta, header.max_timestamp))

    def forget_surplus(self, count_max: int, in_transaction: Container[int]) -> None:
        """Forgets the producers that have not written for longest, down to `count_max`; those in a transaction stay."""
        states = self._states
        for _ in range(len(states)):
            if len(states) <= count_max:
                return
            producer_id = next(iter(states))
            state = states.pop(producer_id)
            if producer_id in in_transaction:
                states[producer_id] = state

    def on_resumed(self, now_ms: int, expiration_ms: int) -> None:
        """Bounds the idle times of producers after a restart: only wall clocks tell them, and one may have been wrong."""
        oldest = now_ms - max(0, expiration_ms - RESUMED_MS_MIN)
        for state in self._states.values():
            state.last_seen_ms = min(now_ms, max(oldest, state.last_seen_ms))

    def expire(self, now_ms: int, expiration_ms: int, in_transaction: Container[int] = ()) -> int:
        """Forgets producers idle for `expiration_ms`; returns how many.

        Goes by when a batch came in, as a client's own timestamps may be years old.
        """
        oldest = now_ms - expiration_ms
        gone = [
            producer_id
            for producer_id, state in self._states.items()
            if state.last_seen_ms < oldest and producer_id not in in_transaction
        ]
        for producer_id in gone:
            del self._states[producer_id]
        return len(gone)

    def encode(self) -> bytes:
        parts: list[bytes] = []
        for producer_id, state in self._states.items():
            batches = state.batches
            count = len(batches)
            parts.append(
                _WHOLE[count].pack(
                    producer_id, state.epoch, state.last_seen_ms, state.coordinator_epoch, count, *chain(*batches)
                )
            )
        return b"".join(parts)

    @classmethod
    def decode(cls, content: bytes) -> "Producers":
        producers = cls()
        position = 0
        while position < len(content):
            producer_id, epoch, last_seen_ms, coordinator_epoch, count = _PRODUCER.unpack_from(content, position)
            position += _PRODUCER.size
            state = producers._states[producer_id] = ProducerState(epoch, last_seen_ms)
            state.coordinator_epoch = coordinator_epoch
            for _ in range(count):
                state.batches.append(_BATCH.unpack_from(content, position))
                position += _BATCH.size
        return producers


def _duplicate_of(header: BatchHeader, state: ProducerState) -> Duplicate | None:
    for first_sequence, last_sequence, base_offset, last_offset_delta, max_timestamp in state.batches:
        if first_sequence == header.base_sequence and last_sequence == header.last_sequence:
            return Duplicate(base_offset, base_offset + last_offset_delta + 1, max_timestamp)
    return None
