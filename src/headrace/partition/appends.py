"""Writes by the leader of a partition: batches of producers, markers, batches of this broker's own.

leader? → enough in sync? → stamp → admit → in sequence? → in its transaction? → the log. Durable and visible only later:
see `Role.wait`.
"""

from typing import NamedTuple

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.log.producers import Duplicate
from headrace.partition.admission import admit, repacked
from headrace.partition.role import Role
from headrace.partition.sequences import Sequences
from headrace.partition.verification import Verification, Verifications
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header, stamp, stamp_log_append_time
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker, build_marker

NO_TIMESTAMP = -1
# Produce requests from here on add their partitions to the transaction, and begin each with new sequences.
ADDS_SINCE_PRODUCE = 12
EPOCH_PER_TRANSACTION_SINCE = 2
_ZERO_OFFSET = bytes(8)


class Appended(NamedTuple):
    base_offset: int
    end_offset: int
    log_append_time: int


class Appends:
    __slots__ = ("_role", "_sequences", "_verifications", "bytes_in", "records_in")

    def __init__(self, role: Role, sequences: Sequences, verifications: Verifications) -> None:
        self._role = role
        self._sequences = sequences
        self._verifications = verifications
        self.records_in = 0
        self.bytes_in = 0

    def append(
        self,
        records: memoryview,
        acks: int,
        produce_version: int,
        now: Now,
        verification: Verification | None = None,
    ) -> Appended:
        """Gives a producer's batch its offset and writes it."""
        role = self._role
        leader = role.leader
        if leader is None:
            raise role.not_leader()
        if acks == -1 and not leader.has_min_isr:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{role.id} has {len(leader.isr)} in-sync replicas, acks=all needs {role.min_isr} (min.insync.replicas)",
            )
        log, config = role.log, role.config
        base_offset = log.end_offset
        header = self._stamped_header(records, base_offset)
        admit(records, header, config, produce_version, now)
        if config.compacts or config.compression_type != "producer":
            records = repacked(records, header, config)
            header = parse_header(records)
        if header.producer_id >= 0:
            verdict = self._sequences.check(header, now)
            if verdict is not None:
                return self._acknowledge_again(header, verdict)
            if header.is_transactional:
                self._check_in_transaction(header, produce_version, verification)
        log_append_time = NO_TIMESTAMP
        if config.stamps_append_time:
            log_append_time = now.wall
            stamp_log_append_time(records, 0, now.wall)
            header = parse_header(records)
        log.append(records, (header,), now)
        self.records_in += header.record_count
        self.bytes_in += len(records)
        leader.on_append(now.mono)
        role.on_appended()
        return Appended(base_offset, log.end_offset, log_append_time)

    def _check_in_transaction(
        self, header: BatchHeader, produce_version: int, verification: Verification | None
    ) -> None:
        if produce_version >= ADDS_SINCE_PRODUCE and self._sequences.is_gap_of_unknown(header):
            # It began this transaction elsewhere in time: batches before this one are missing.
            raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "a transaction begins with sequence 0")
        self._verifications.check(header.producer_id, header.producer_epoch, verification)

    def append_own(self, batch: bytearray, now: Now) -> int:
        """Writes a batch that this broker made itself, under the rules of acks=all; returns the end of the log."""
        role = self._role
        leader = role.leader
        if leader is None:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{role.id} is led by broker {role.state.leader}")
        if not leader.has_min_isr:
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, f"{role.id} has too few in-sync replicas")
        stamp(batch, 0, role.log.end_offset, role.leader_epoch)
        role.log.append(batch, (parse_header(batch),), now)
        leader.on_append(now.mono)
        role.on_appended()
        return role.log.end_offset

    def append_marker(
        self, marker: Marker, producer_id: int, producer_epoch: int, transaction_version: int, now: Now
    ) -> int:
        """Ends a producer's transaction here; returns the end up to which the log has to be committed for that."""
        role = self._role
        role.check_leader()
        # With an epoch for each transaction a marker has that of the next one, which may be asking its coordinator already.
        ended_epoch = producer_epoch - (transaction_version >= EPOCH_PER_TRANSACTION_SINCE)
        self._verifications.void(producer_id, ended_epoch)
        known = role.log.state.producers.get(producer_id)
        is_open = role.log.state.transactions.open.get(producer_id) is not None
        if known is not None:
            if producer_epoch < known.epoch:
                raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, f"producer {producer_id} is at epoch {known.epoch}")
            if marker.coordinator_epoch < known.coordinator_epoch:
                raise Refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED, "a newer coordinator has taken over")
            if producer_epoch == known.epoch and not is_open:
                # It has been here before, or there is nothing to end and nobody to fence.
                return role.log.end_offset
            if producer_epoch == known.epoch and transaction_version >= EPOCH_PER_TRANSACTION_SINCE:
                raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, "a marker of an earlier transaction came too late")
        batch = build_marker(marker, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=now.wall)
        return self.append_own(bytearray(batch), now)

    def _stamped_header(self, records: memoryview, base_offset: int) -> BatchHeader:
        """Stamped before it is admitted, so that it is parsed once; the bytes of one that is refused go nowhere."""
        if len(records) < HEADER_SIZE:
            raise Refused(ErrorCode.INVALID_RECORD, f"{len(records)} bytes are no record batch")
        if records[:8] != _ZERO_OFFSET:
            raise Refused(ErrorCode.INVALID_RECORD, "a producer's batch starts at offset 0")
        stamp(records, 0, base_offset, self._role.leader_epoch)
        try:
            return parse_header(records)
        except CorruptBatch as error:
            raise Refused(ErrorCode.INVALID_RECORD, f"not a record batch: {error}") from error

    def _acknowledge_again(self, header: BatchHeader, original: Duplicate | ErrorCode) -> Appended:
        """A resend is answered like the original, and no sooner: `Role.wait` holds it to the same tests."""
        if not isinstance(original, Duplicate):
            raise self._sequences.out_of_step(header, original)
        stamped = original.max_timestamp if self._role.config.stamps_append_time else NO_TIMESTAMP
        return Appended(original.base_offset, original.next_offset, stamped)
