"""Upkeep of a partition that no request asks for: rolls, deletions, a relaxed topic's flush, and whether it is at rest."""

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.partition.role import Role, assert_bounds
from headrace.wire.codes import ErrorCode


class Upkeep:
    __slots__ = ("_role", "_unsynced_since")

    def __init__(self, role: Role) -> None:
        self._role = role
        self._unsynced_since: float | None = None

    @property
    def is_at_rest(self) -> bool:
        """Whether time alone changes nothing: all is on disk, every replica is in sync and has all of it."""
        role = self._role
        if role.log.unsynced_messages or self._unsynced_since is not None:
            return False
        return role.leader is None or role.leader.is_complete(role.log.end_offset)

    def on_tick(self, now: Now) -> None:
        """Owes a sync when a relaxed topic's `flush.ms` is over."""
        if not self._role.log.unsynced_messages:
            self._unsynced_since = None
        elif self._unsynced_since is None:
            self._unsynced_since = now.mono
        elif (now.mono - self._unsynced_since) * 1000 >= self._role.config.flush_ms:
            self._unsynced_since = None
            self._role.ready.owe_sync(self._role)

    def delete_records(self, before: int) -> int:
        """Moves the start of the log up, and returns it. -1 means up to the high watermark."""
        role = self._role
        before = role.high_watermark if before == -1 else before
        if not 0 <= before <= role.high_watermark:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"{role.id} can be cut at 0 to {role.high_watermark}, not at {before}"
            )
        role.log.advance_start(before)
        assert_bounds(role)
        role.on_moved()
        role.notify()
        return role.log.start_offset

    def roll(self, now: Now) -> None:
        """Seals the active segment, since only a sealed one can be deleted or cleaned."""
        self._role.log.roll(now)
        self._role.ready.owe_sync(self._role)

    def roll_if_older(self, than_ms: int, now: Now) -> None:
        active = self._role.log.segments.all[-1]
        if active.size and active.first_append_ms < than_ms:
            self.roll(now)

    def on_cleaned(self) -> None:
        """Segments have another name now; the directory that says so is synced with the next round."""
        self._role.ready.owe_sync(self._role)
