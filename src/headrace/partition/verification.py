"""Proofs that a producer's transaction has this partition (KIP-890): asked of a coordinator, shown with the first write.

begin ─▶ the coordinator is asked ─▶ check, with the append ─▶ the transaction is open in the log
            └─ a marker, or a new leader, voids it: a late batch must not open again what has ended
"""

from headrace.base.errors import Refused
from headrace.partition.role import Role
from headrace.wire.codes import ErrorCode


class Verification:
    """The proof of one KIP-890 check, of one producer epoch; a marker voids it."""

    __slots__ = ("producer_epoch",)

    def __init__(self, producer_epoch: int) -> None:
        self.producer_epoch = producer_epoch


class Verifications:
    __slots__ = ("_role", "_verifying")

    def __init__(self, role: Role) -> None:
        self._role = role
        self._verifying: dict[int, Verification] = {}

    def __len__(self) -> int:
        return len(self._verifying)

    def begin_term(self) -> None:
        self._verifying.clear()

    def is_in_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether this producer has a transaction open here. One of an older epoch is not its own: it has ended, and its
        marker is still to come."""
        if self._role.log.state.transactions.open.get(producer_id) is None:
            return False
        known = self._role.log.state.producers.get(producer_id)
        return known is not None and known.epoch == producer_epoch

    def begin(self, producer_id: int, producer_epoch: int) -> Verification:
        """The proof to show with the append. All batches that wait for the coordinator at once share one proof."""
        known = self._verifying.get(producer_id)
        if known is None or known.producer_epoch != producer_epoch:
            known = self._verifying[producer_id] = Verification(producer_epoch)
        return known

    def drop(self, producer_id: int, verification: Verification) -> None:
        if self._verifying.get(producer_id) is verification:
            del self._verifying[producer_id]

    def void(self, producer_id: int, ended_epoch: int) -> None:
        """The proof of a transaction up to this epoch: it has ended. The proof of a later one holds."""
        known = self._verifying.get(producer_id)
        if known is not None and known.producer_epoch <= ended_epoch:
            del self._verifying[producer_id]

    def check(self, producer_id: int, epoch: int, verification: Verification | None) -> None:
        """Refuses a batch whose transaction ended while its coordinator was being asked: nobody would ever end it."""
        if self.is_in_transaction(producer_id, epoch):
            return
        if verification is None or self._role.log.state.transactions.open.get(producer_id) is not None:
            raise Refused(
                ErrorCode.INVALID_TXN_STATE, f"producer {producer_id} has no transaction open on {self._role.id}"
            )
        if self._verifying.get(producer_id) is not verification:
            # Sent again, it is asked about again: then the coordinator says what became of the transaction.
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "a marker or a new leader came between")
        del self._verifying[producer_id]
