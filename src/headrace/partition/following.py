"""A follower's work on its copy: append the leader's batches, take its word, cut where histories part."""

from collections.abc import Sequence

from headrace.base.clock import Now
from headrace.partition.role import Role, assert_bounds
from headrace.wire.batch import BatchHeader


class Following:
    __slots__ = ("_leader_high_watermark", "_role", "bytes_copied_in")

    def __init__(self, role: Role) -> None:
        self._role = role
        self._leader_high_watermark = -1
        self.bytes_copied_in = 0

    def append_copies(self, records: memoryview, headers: Sequence[BatchHeader], now: Now) -> None:
        """Batches of the leader, byte for byte."""
        role = self._role
        assert not role.is_leader, role.id
        role.log.append(records, headers, now)
        assert role.log.end_offset == headers[-1].next_offset, (role.id, role.log.end_offset, headers[-1])
        self.bytes_copied_in += len(records)
        role.on_appended()

    def on_leader_word(self, high_watermark: int, start_offset: int, matching_end: int) -> None:
        """Takes in how far the leader says all are, and where its log starts. Our watermark counts only below
        `matching_end`, up to where this fetch has shown our log to be the leader's: a tail beyond it may be another
        leader's, to be cut."""
        role = self._role
        self._leader_high_watermark = high_watermark
        role.raise_high_watermark(min(high_watermark, matching_end, role.log.end_offset))
        if start_offset > role.log.start_offset:
            role.log.advance_start(min(start_offset, role.high_watermark))
            assert_bounds(role)
            role.on_moved()

    @property
    def lag(self) -> int:
        """Offsets that are committed and not here; -1 for a follower that has not heard of its leader yet."""
        if self._role.is_leader:
            return 0
        heard = self._leader_high_watermark
        return -1 if heard < 0 else max(0, heard - self._role.log.end_offset)

    def truncate(self, offset: int, now: Now) -> None:
        """Cuts what the leader does not have. A recovery point at or below must be durable before: see
        `Log.truncate_to`."""
        role = self._role
        role.log.truncate_to(offset, now)
        role.high_watermark = min(role.high_watermark, role.log.end_offset)
        assert_bounds(role)
        role.on_moved()
        role.ready.owe_sync(role)

    def restart_at(self, offset: int, now: Now) -> None:
        """Begins anew where the leader begins: all of our log is older than what it still keeps."""
        role = self._role
        role.log.truncate_fully_to(offset, now)
        role.high_watermark = offset
        assert_bounds(role)
        role.on_moved()
        role.ready.owe_sync(role)
