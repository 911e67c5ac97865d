"""The state of one transactional id: a value, replaced whole by each decision.

                      ┌─────────────── begin ◀──────────────┐
    (none) ─begin─▶ EMPTY ─add─▶ ONGOING ─end─▶ PREPARE_COMMIT ─markers─▶ COMPLETE_COMMIT ─add─▶ ONGOING …
                                    └─end, fence, time-out─▶ PREPARE_ABORT ─markers─▶ COMPLETE_ABORT ─add─▶ ONGOING …

After PREPARE the outcome stands: every later coordinator writes the same markers. The epoch of a PREPARE state is the
one its markers carry. When it is above the epoch the records were written with (always, but for clients that cannot be
told of a new epoch, KIP-890), no late record and no late marker of the transaction can touch the next one.
"""

from enum import IntEnum
from typing import Final, NamedTuple

from headrace.base.ids import TopicPartition

NO_PRODUCER: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
# One epoch is left above for the fence, so that even the last transaction of a producer id can be aborted by others.
EPOCH_MAX: Final = 32766


class TxnState(IntEnum):
    """The states, by the numbers and names that Kafka's tools know."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6

    @property
    def title(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        return self in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)

    @property
    def commits(self) -> bool:
        return self in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT)


class Transaction(NamedTuple):
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TxnState
    updated_at: int
    partitions: frozenset[TopicPartition] = frozenset()
    started_at: int = NO_TIME
    last_epoch: int = NO_EPOCH
    """The epoch before the last bump, if its own producer asked for that bump: so it may ask again and be answered."""
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER
    """The producer id that follows when the epochs of this one are used up."""
    client_version: int = 1
    """2 when the markers carry a newer epoch than the records: always, but for an end by a client without KIP-890."""

    @property
    def is_exhausted(self) -> bool:
        return self.producer_epoch >= EPOCH_MAX

    @property
    def identity(self) -> tuple[int, int]:
        """The (producer id, epoch) to go on with."""
        if self.next_producer_id != NO_PRODUCER:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    def fenced(self, wall: int) -> "Transaction":
        """The transaction aborted by somebody else than its producer, which the epoch locks out."""
        return self._replace(
            state=TxnState.PREPARE_ABORT,
            producer_epoch=self.producer_epoch + 1,
            last_epoch=NO_EPOCH,
            updated_at=wall,
            client_version=2,
        )

    def completed(self, wall: int) -> "Transaction":
        assert self.state.is_prepared, self.state
        done = self._replace(
            state=TxnState.COMPLETE_COMMIT if self.state.commits else TxnState.COMPLETE_ABORT,
            partitions=frozenset(),
            started_at=NO_TIME,
            updated_at=wall,
        )
        if self.next_producer_id == NO_PRODUCER:
            return done
        return done._replace(
            producer_id=self.next_producer_id,
            producer_epoch=0,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER,
        )
