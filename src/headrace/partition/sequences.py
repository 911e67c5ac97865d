"""Sequences of idempotent producers on one partition: duplicates, gaps, and the grace after a change of leaders.

The log remembers the last batches of each producer (`log.producers`) and says what a batch is to them; here it is decided
what its producer is told. While the leader of a partition is a new one, a gap may be nobody's fault (`grace`).
"""

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.log.producers import Verdict
from headrace.partition.grace import NEW_SECONDS, Grace
from headrace.partition.role import Role
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode


class Sequences:
    __slots__ = ("_grace", "_is_new_until", "_role")

    def __init__(self, role: Role) -> None:
        self._role = role
        self._grace: Grace | None = None
        self._is_new_until = 0.0

    def begin_term(self, now: Now) -> None:
        self._grace = None
        # Epoch 0 has no leader before it.
        is_another = self._role.is_leader and self._role.leader_epoch
        self._is_new_until = now.mono + NEW_SECONDS if is_another else 0.0

    def check(self, header: BatchHeader, now: Now) -> Verdict:
        """None for a batch that comes next; its original, for a duplicate; otherwise the code to refuse it with."""
        verdict = self._role.log.state.check(header, self._role.log.config.producers_max)
        if now.mono < self._is_new_until:
            self._excuse_gap(header, verdict, now)
        return verdict

    def _excuse_gap(self, header: BatchHeader, verdict: Verdict, now: Now) -> None:
        """Another broker led just before: the missing batches may be on their way there."""
        if verdict is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or self.is_gap_of_unknown(header):
            self._grace = self._grace or Grace()
            self._grace.excuse(header, self.owes(header.producer_id), now)
        elif self._grace and verdict is None:
            self._grace.on_append(header)

    def owes(self, producer_id: int) -> bool:
        """Whether the last batch of this producer is in the log and not committed."""
        known = self._role.log.state.producers.get(producer_id)
        if known is None or not known.batches:
            return False
        _, _, base_offset, last_offset_delta, _ = known.batches[-1]
        return base_offset + last_offset_delta >= self._role.high_watermark

    def is_gap_of_unknown(self, header: BatchHeader) -> bool:
        """Whether its producer has written before, and not here as far as is known."""
        return header.base_sequence > 0 and self._role.log.state.producers.get(header.producer_id) is None

    def out_of_step(self, header: BatchHeader, code: ErrorCode) -> Refused:
        known = self._role.log.state.producers.get(header.producer_id)
        last = "" if known is None else f", after {known.last_sequence} of epoch {known.epoch}"
        came = f"sequence {header.base_sequence} of epoch {header.producer_epoch}"
        return Refused(code, f"producer {header.producer_id} is out of step with {self._role.id}: {came} came{last}")

    def __len__(self) -> int:
        """How many producers are in their grace."""
        return len(self._grace or ())
