"""Reads of a partition, by offset and by time: what each reader may see, and who may ask for what."""

from headrace.base.errors import Refused
from headrace.log.file_range import FileRange
from headrace.partition.role import Role
from headrace.wire.batch import CorruptBatch
from headrace.wire.codes import ErrorCode


class Reads:
    __slots__ = ("_role", "bytes_copied_out", "bytes_out", "records_out")

    def __init__(self, role: Role) -> None:
        self._role = role
        self.records_out = 0
        self.bytes_out = 0
        self.bytes_copied_out = 0

    @property
    def last_stable_offset(self) -> int:
        role = self._role
        return role.log.state.transactions.stable_end(role.high_watermark, role.log.start_offset)

    def visible_end(self, as_follower: bool, committed_only: bool) -> int:
        if as_follower:
            return self._role.log.end_offset
        return self.last_stable_offset if committed_only else self._role.high_watermark

    def read(
        self,
        offset: int,
        max_bytes: int,
        at_least_one: bool,
        as_follower: bool = False,
        committed_only: bool = False,
    ) -> FileRange | None:
        """The batches that a reader may see from `offset` on; None when there are none, or none fits `max_bytes`."""
        log = self._role.log
        if offset < log.start_offset or offset > log.end_offset:
            self._refuse_offset(offset)
        end_offset = self.visible_end(as_follower, committed_only)
        if offset >= end_offset:
            return None
        try:
            found = log.reader.read(offset, max_bytes, end_offset, at_least_one)
        except CorruptBatch as error:
            raise self._unreadable(error) from error
        if found is not None:
            assert found.next_offset <= end_offset, (self._role.id, offset, found.next_offset, end_offset)
            if as_follower:
                self.bytes_copied_out += found.length
            else:
                self.bytes_out += found.length
                # By their offsets: the batches stay closed. A batch is sent whole, however few of it were asked for.
                self.records_out += found.next_offset - offset
        return found

    def _unreadable(self, error: CorruptBatch) -> Refused:
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._role.id} cannot be read: {error}")

    def _refuse_offset(self, offset: int) -> None:
        role = self._role
        if not role.is_leader and offset > role.log.end_offset:
            raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE, f"this replica of {role.id} is not there yet")
        raise Refused(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{role.id} holds offsets {role.log.start_offset} to {role.log.end_offset}, not {offset}",
        )

    def available_bytes(self, offset: int, as_follower: bool = False, committed_only: bool = False) -> int:
        if self._role.is_gone:
            return 0
        log = self._role.log
        end_offset = self.visible_end(as_follower, committed_only)
        if not log.start_offset <= offset < end_offset:
            return 0
        try:
            return log.reader.bytes_between(offset, end_offset)
        except CorruptBatch:
            # Worth an answer: reading will say what is wrong.
            return end_offset - offset

    @property
    def is_watermark_known(self) -> bool:
        leader = self._role.leader
        return leader is None or self._role.high_watermark >= leader.epoch_start_offset

    def check_watermark_known(self) -> None:
        """A new leader learns from its followers how far its predecessor had come; before that, "latest" would lie."""
        if not self.is_watermark_known:
            raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE, f"{self._role.id} has a new leader; its end is not known yet")

    def find_by_time(self, timestamp: int, committed_only: bool = False) -> tuple[int, int]:
        """(timestamp, offset) of the first record a consumer may see that is not older; both -1 when there is none."""
        try:
            found = self._role.log.reader.find_by_time(timestamp, self._role.log.start_offset)
        except CorruptBatch as error:
            raise self._unreadable(error) from error
        if found is None:
            return -1, -1
        if found[0] >= self.visible_end(False, committed_only):
            # Consumers may have read it from the leader before: "there is none" would send them to the end.
            self.check_watermark_known()
            return -1, -1
        return found[1], found[0]

    def find_max_timestamp(self) -> tuple[int, int]:
        try:
            return self._role.log.reader.max_timestamp(self._role.log.start_offset)
        except CorruptBatch as error:
            raise self._unreadable(error) from error

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) as OffsetForLeaderEpoch answers; the current epoch may have no batch yet."""
        return self._role.log.state.epochs.end_of(epoch, self._role.leader_epoch, self._role.log.end_offset)

    def epoch_at(self, offset: int) -> int:
        if offset >= self._role.log.end_offset:
            return self._role.leader_epoch
        return self._role.log.state.epochs.epoch_at(offset)
