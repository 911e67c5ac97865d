"""One partition on this broker: its log, its place in the cluster, and who waits for it to move.

Everything that changes it runs on the loop without an await in between, so there are no locks. What is visible to whom:

    start_offset ……… high_watermark ……… synced_end ……… log_end_offset
      consumers read up to here │       on this disk │       followers read up to here

As a leader it has a `LeaderReplica`, which says what is committed; as a follower it is told by its leader, through the
fetcher, and copies bytes as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition, format_id
from headrace.broker.admit import admit, opened
from headrace.broker.flusher import Flusher
from headrace.broker.gaps import NEW_SECONDS, Gaps
from headrace.broker.waiters import OffsetWaiters, Waiter
from headrace.cluster.elect import min_isr_to_commit
from headrace.cluster.entities import INTERNAL_TOPICS, PartitionState
from headrace.cluster.topic_config import TopicConfig
from headrace.log.config import LogConfig
from headrace.log.file_range import FileRange
from headrace.log.log import Log
from headrace.log.producers import Duplicate, Verdict
from headrace.log.sync import SyncTicket
from headrace.replica.leader import LeaderReplica, Proposal
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header, stamp, stamp_log_append_time
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker, build_marker

NO_TIMESTAMP = -1
# Produce requests from here on add their partitions to the transaction, and begin each with new sequences.
ADDS_SINCE = 12
EPOCH_PER_TRANSACTION_SINCE = 2
_ZERO_OFFSET = bytes(8)


def checkpoint_name(topic_id: bytes, index: int) -> TopicPartition:
    """What a partition is called in checkpoint files: by its topic's id, since a name may come back for another topic."""
    return TopicPartition(format_id(topic_id), index)


class Appended(NamedTuple):
    base_offset: int
    end_offset: int
    log_append_time: int


class Verification:
    """That a coordinator was asked whether a producer's transaction has this partition. Void once a marker came in."""

    __slots__ = ("producer_epoch",)

    def __init__(self, producer_epoch: int) -> None:
        self.producer_epoch = producer_epoch


class Watcher(Protocol):
    """Told when something a reader could see has changed: more records, a new epoch, a new start."""

    def on_change(self) -> None: ...


class Copier(Protocol):
    """Told when what the leader should know of our copy has changed: an epoch, or how far it is."""

    def on_moved(self, partition: "Partition") -> None: ...


class Partition:
    __slots__ = (
        "_broker_id",
        "_flusher",
        "_gaps",
        "_hw_waiters",
        "_is_new_until",
        "_leader_high_watermark",
        "_moved",
        "_propose",
        "_synced_waiters",
        "_unsynced_since",
        "_verifying",
        "bytes_copied_in",
        "bytes_copied_out",
        "bytes_in",
        "bytes_out",
        "config",
        "copier",
        "follower_watchers",
        "high_watermark",
        "id",
        "is_durable",
        "is_gone",
        "is_internal",
        "is_leader",
        "leader",
        "leader_epoch",
        "log",
        "records_in",
        "records_out",
        "state",
        "topic_id",
        "watchers",
        "written_as",
    )

    def __init__(
        self,
        id: TopicPartition,
        topic_id: bytes,
        broker_id: int,
        log: Log,
        config: TopicConfig,
        state: PartitionState,
        flusher: Flusher,
        high_watermark: int,
        propose: "Callable[[Partition, Proposal], None]",
        now: Now,
        moved: "dict[Partition, None] | None" = None,
    ) -> None:
        """`moved` is where it enters itself whenever anything about it has changed, for whoever looks there next."""
        self.id = id
        self.topic_id = topic_id
        self.written_as = checkpoint_name(topic_id, id.partition)
        self.is_internal = id.topic in INTERNAL_TOPICS
        self.log = log
        self.config = config
        self.is_durable = config.is_durable
        self.leader: LeaderReplica | None = None
        self.is_leader = False
        self.is_gone = False
        self.leader_epoch = -1
        self.high_watermark = max(log.start_offset, min(high_watermark, log.end_offset))
        # Dicts for their order: the simulator must see the same one every time.
        self.watchers: dict[Watcher, None] = {}
        self.follower_watchers: dict[Watcher, None] = {}
        self.records_in = 0
        self.bytes_in = 0
        self.records_out = 0
        self.bytes_out = 0
        self.bytes_copied_in = 0
        self.bytes_copied_out = 0
        self._broker_id = broker_id
        self._leader_high_watermark = -1
        self._flusher = flusher
        self._propose = propose
        self._moved = {} if moved is None else moved
        self.copier: Copier | None = None
        self._hw_waiters = OffsetWaiters()
        self._synced_waiters = OffsetWaiters()
        self._unsynced_since: float | None = None
        self._verifying: dict[int, Verification] = {}
        self._gaps: Gaps | None = None
        self._is_new_until = 0.0
        if log.end_offset:
            # What a crash left in the page cache only is not shown to anyone before it is on disk. The directory of one
            # with nothing in it is synced with its first record.
            flusher.mark(self)
        self.on_state(state, now)

    # -- its place in the cluster ----------------------------------------------------------------------------------

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse what only a leader, in the epoch the client believes in, may answer."""
        self.check_epoch(current_leader_epoch)
        if not self.is_leader:
            raise self._not_leader()

    def _not_leader(self) -> Refused:
        if self._broker_id in self.state.damaged:
            return Refused(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{self.id} is damaged: records that were acknowledged are gone from the disk of broker "
                f"{self._broker_id}. To go on without them, set unclean.leader.election.enable=true on {self.id.topic}",
            )
        return Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.id} is led by broker {self.state.leader}")

    def check_epoch(self, current_leader_epoch: int) -> None:
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return
        if current_leader_epoch < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH, f"the leader epoch is {self.leader_epoch}")
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"the leader epoch is {self.leader_epoch}")

    def on_state(self, state: PartitionState, now: Now) -> None:
        """The committed state is another one: lead, go on leading with other replicas, or follow."""
        leads_on = self.is_leader and state.leader == self._broker_id and state.leader_epoch == self.leader_epoch
        self.state = state
        # Nobody leads below an epoch of its own log: recovery would take what it wrote for a lost history. Metadata that
        # were restored from an older snapshot say so until the next registration raises the epoch.
        self.is_leader = state.leader == self._broker_id and state.leader_epoch >= self.log.active_epoch
        self.leader_epoch = state.leader_epoch
        if leads_on:
            assert self.leader is not None, self.id
            self.leader.on_replicas(state.replicas, state.isr, self._min_isr, now.mono)
        else:
            self._lose_waiters(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            self._verifying.clear()
            self._gaps = None
            # Who leads first is new to nobody.
            self._is_new_until = now.mono + NEW_SECONDS if self.is_leader and self.leader_epoch else 0.0
            self.leader = self._begin_to_lead(now) if self.is_leader else None
        self._settle()

    def _begin_to_lead(self, now: Now) -> LeaderReplica:
        state = self.state
        end_offset = self.log.end_offset
        return LeaderReplica(
            self._broker_id, state.replicas, state.isr, self._min_isr, end_offset, self.high_watermark, now.mono
        )

    @property
    def _min_isr(self) -> int:
        return min_isr_to_commit(self.state, self.config.min_insync_replicas)

    def _settle(self) -> None:
        if self.leader is not None and not self.leader.has_min_isr:
            self._hw_waiters.lose_all(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        self._advance()
        self._on_moved()
        self._notify()

    def _on_moved(self) -> None:
        self._moved[self] = None
        if self.copier is not None:
            self.copier.on_moved(self)

    def on_config(self, config: TopicConfig, log_config: LogConfig, now: Now) -> None:
        self.config = config
        self.is_durable = config.is_durable
        self.log.config = log_config
        if self.leader is not None:
            self.leader.on_min_isr(self._min_isr)
        # A topic that became durable owes a sync for what it acknowledged before; one that was relaxed shows its end.
        self._flusher.mark(self)
        self._settle()

    def _lose_waiters(self, code: int) -> None:
        self._hw_waiters.lose_all(code)
        self._synced_waiters.lose_all(code)

    # -- writing ---------------------------------------------------------------------------------------------------

    def append(
        self,
        records: memoryview,
        acks: int,
        produce_version: int,
        now: Now,
        verification: Verification | None = None,
    ) -> Appended:
        """Give a producer's batch its offset and write it. Durable and visible only later: see `wait`."""
        leader = self.leader
        if leader is None:
            raise self._not_leader()
        if acks == -1 and not leader.has_min_isr:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.id} has {len(leader.isr)} in-sync replicas, acks=all needs {self._min_isr} (min.insync.replicas)",
            )
        log, config = self.log, self.config
        base_offset = log.end_offset
        header = self._stamped_header(records, base_offset)
        admit(records, header, config, produce_version, now)
        if config.compacts or config.compression_type != "producer":
            records = opened(records, header, config)
            header = parse_header(records)
        if header.producer_id >= 0:
            verdict = log.check_producer(header)
            if now.mono < self._is_new_until:
                self._excuse_gap(header, verdict, now)
            if verdict is not None:
                return self._acknowledge_again(header, verdict)
            if header.is_transactional:
                if produce_version >= ADDS_SINCE and self._is_gap_of_unknown(header):
                    # It began this transaction elsewhere in time: batches before this one are missing.
                    raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "a transaction begins with sequence 0")
                self.check_in_transaction(header.producer_id, header.producer_epoch, verification)
        log_append_time = NO_TIMESTAMP
        if config.stamps_append_time:
            log_append_time = now.wall
            stamp_log_append_time(records, 0, now.wall)
            header = parse_header(records)
        log.append(records, (header,), now)
        self.records_in += header.record_count
        self.bytes_in += len(records)
        leader.on_append(now.mono)
        self._on_appended()
        return Appended(base_offset, log.end_offset, log_append_time)

    def _excuse_gap(self, header: BatchHeader, verdict: Verdict, now: Now) -> None:
        """Another has led just before: what is missing may be on its way there."""
        if verdict is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or self._is_gap_of_unknown(header):
            self._gaps = self._gaps or Gaps()
            self._gaps.excuse(header, self.owes(header.producer_id), now)
        elif self._gaps and verdict is None:
            self._gaps.on_append(header)

    def owes(self, producer_id: int) -> bool:
        """Whether the last batch of this producer is in the log and not committed."""
        known = self.log.producer(producer_id)
        if known is None or not known.batches:
            return False
        _, _, base_offset, last_offset_delta, _ = known.batches[-1]
        return base_offset + last_offset_delta >= self.high_watermark

    def _is_gap_of_unknown(self, header: BatchHeader) -> bool:
        """Its producer has written before, and not here as far as we know."""
        return header.base_sequence > 0 and self.log.producer(header.producer_id) is None

    # -- transactions ----------------------------------------------------------------------------------------------

    def is_in_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether this producer has a transaction open here. One of an older epoch is not its own: it has ended, and its
        marker is still to come."""
        if self.log.transaction_start(producer_id) is None:
            return False
        known = self.log.producer(producer_id)
        return known is not None and known.epoch == producer_epoch

    def begin_verification(self, producer_id: int, producer_epoch: int) -> Verification:
        """To be shown again with the append. Of several that wait for the coordinator at once, all may go on."""
        known = self._verifying.get(producer_id)
        if known is None or known.producer_epoch != producer_epoch:
            known = self._verifying[producer_id] = Verification(producer_epoch)
        return known

    def drop_verification(self, producer_id: int, verification: Verification) -> None:
        if self._verifying.get(producer_id) is verification:
            del self._verifying[producer_id]

    def check_in_transaction(self, producer_id: int, epoch: int, verification: Verification | None) -> None:
        """A transaction that ended while its coordinator was being asked must not be opened again by a late batch:
        nobody would ever end it."""
        if self.is_in_transaction(producer_id, epoch):
            return
        if verification is None or self.log.transaction_start(producer_id) is not None:
            raise Refused(ErrorCode.INVALID_TXN_STATE, f"producer {producer_id} has no transaction open on {self.id}")
        if self._verifying.get(producer_id) is not verification:
            # Sent again, it is asked about again: then the coordinator says what became of the transaction.
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "a marker or a new leader came between")
        del self._verifying[producer_id]

    def append_marker(
        self, marker: Marker, producer_id: int, producer_epoch: int, transaction_version: int, now: Now
    ) -> int:
        """Ends a producer's transaction here. Where the log has to be committed up to before that is true."""
        self.check_leader()
        self._verifying.pop(producer_id, None)
        known = self.log.producer(producer_id)
        is_open = self.log.transaction_start(producer_id) is not None
        if known is not None:
            if producer_epoch < known.epoch:
                raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, f"producer {producer_id} is at epoch {known.epoch}")
            if marker.coordinator_epoch < known.coordinator_epoch:
                raise Refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED, "a newer coordinator has taken over")
            if producer_epoch == known.epoch and not is_open:
                # It has been here before, or there is nothing to end and nobody to fence.
                return self.log.end_offset
            if producer_epoch == known.epoch and transaction_version >= EPOCH_PER_TRANSACTION_SINCE:
                raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, "a marker of an earlier transaction came too late")
        batch = build_marker(marker, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=now.wall)
        return self.append_own(bytearray(batch), now)

    @property
    def last_stable_offset(self) -> int:
        return self.log.stable_end(self.high_watermark)

    def append_own(self, batch: bytearray, now: Now) -> int:
        """A batch that this broker made itself, for an internal topic, under the rules of acks=all; where the log ends."""
        leader = self.leader
        if leader is None:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.id} is led by broker {self.state.leader}")
        if not leader.has_min_isr:
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, f"{self.id} has too few in-sync replicas")
        stamp(batch, 0, self.log.end_offset, self.leader_epoch)
        self.log.append(batch, (parse_header(batch),), now)
        leader.on_append(now.mono)
        self._on_appended()
        return self.log.end_offset

    def _stamped_header(self, records: memoryview, base_offset: int) -> BatchHeader:
        """Stamped before it is admitted, so that it is parsed once; the bytes of one that is refused go nowhere."""
        if len(records) < HEADER_SIZE:
            raise Refused(ErrorCode.INVALID_RECORD, f"{len(records)} bytes are no record batch")
        if records[:8] != _ZERO_OFFSET:
            raise Refused(ErrorCode.INVALID_RECORD, "a producer's batch starts at offset 0")
        stamp(records, 0, base_offset, self.leader_epoch)
        try:
            return parse_header(records)
        except CorruptBatch as error:
            raise Refused(ErrorCode.INVALID_RECORD, f"not a record batch: {error}") from error

    def _acknowledge_again(self, header: BatchHeader, original: Duplicate | ErrorCode) -> Appended:
        """A resend is answered like the original, and no sooner: `wait` holds it to the same tests."""
        if not isinstance(original, Duplicate):
            known = self.log.producer(header.producer_id)
            last = "" if known is None else f", after {known.last_sequence} of epoch {known.epoch}"
            came = f"sequence {header.base_sequence} of epoch {header.producer_epoch}"
            raise Refused(original, f"producer {header.producer_id} is out of step with {self.id}: {came} came{last}")
        stamped = original.max_timestamp if self.config.stamps_append_time else NO_TIMESTAMP
        return Appended(original.base_offset, original.next_offset, stamped)

    def wait(self, end_offset: int, acks: int, waiter: Waiter, part: object) -> bool:
        """False when an ack is already true; otherwise `waiter` is told when it is, or never can be."""
        if acks == -1:
            if self.high_watermark >= end_offset:
                return False
            self._hw_waiters.add(end_offset, waiter, part)
            return True
        if not self.is_durable or self.log.synced_end >= end_offset:
            return False
        self._synced_waiters.add(end_offset, waiter, part)
        return True

    def _on_appended(self) -> None:
        self._on_moved()
        if self.follower_watchers:
            for watcher in list(self.follower_watchers):
                watcher.on_change()
        if self.is_durable:
            self._flusher.mark(self)
            return
        if self.log.unsynced_messages >= self.config.flush_messages or self.log.has_sealed_unsynced:
            self._flusher.mark(self)
        self._advance()

    @property
    def is_at_rest(self) -> bool:
        """Time alone changes nothing here: all is on disk, every replica is in sync and has all of it."""
        if self.log.unsynced_messages or self._unsynced_since is not None:
            return False
        return self.leader is None or self.leader.is_complete(self.log.end_offset)

    def on_tick(self, now: Now) -> None:
        """What time alone brings: a relaxed topic's `flush.ms`."""
        if not self.log.unsynced_messages:
            self._unsynced_since = None
        elif self._unsynced_since is None:
            self._unsynced_since = now.mono
        elif (now.mono - self._unsynced_since) * 1000 >= self.config.flush_ms:
            self._unsynced_since = None
            self._flusher.mark(self)

    # -- becoming durable and visible ------------------------------------------------------------------------------

    def begin_sync(self) -> SyncTicket | None:
        return self.log.begin_sync()

    def on_synced(self, ticket: SyncTicket) -> None:
        self.log.on_synced(ticket)
        self._on_moved()
        self._synced_waiters.reach(self.log.synced_end)
        self._advance()

    @property
    def proven_end(self) -> int:
        """What an ack, or a report to the leader, may rest on: the disk on a durable topic, the log otherwise."""
        return self.log.synced_end if self.is_durable else self.log.end_offset

    def _advance(self) -> None:
        if self.leader is not None:
            self._raise_high_watermark(self.leader.advance(self.proven_end))

    def _raise_high_watermark(self, high_watermark: int) -> None:
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self._on_moved()
            self.log.on_high_watermark(high_watermark)
            self._hw_waiters.reach(high_watermark)
            self._notify()

    def _notify(self) -> None:
        for watcher in list(self.watchers):
            watcher.on_change()
        for watcher in list(self.follower_watchers):
            watcher.on_change()

    # -- leading ---------------------------------------------------------------------------------------------------

    def on_follower_fetch(self, follower_id: int, broker_epoch: int, offset: int, now: Now) -> None:
        """A follower's fetch from `offset` says that everything below it is on that follower's disk."""
        leader = self.leader
        if leader is None or not leader.on_fetch(follower_id, broker_epoch, offset, self.log.end_offset, now.mono):
            return
        self._advance()
        proposal = leader.propose_joiner(follower_id, now.mono)
        if proposal is not None:
            self._propose(self, proposal)

    def check_followers(self, live: Mapping[int, int], lag_seconds_max: float, now: Now) -> None:
        """Who fell behind leaves the in-sync set; who waits to join it, and is alive, is proposed again."""
        if self.leader is not None:
            proposal = self.leader.propose_without_laggards(
                self.log.end_offset, lag_seconds_max, now.mono
            ) or self.leader.propose_waiting(live, now.mono)
            if proposal is not None:
                self._propose(self, proposal)

    def check_stalled(self, seconds_max: float, now: Now) -> None:
        """Who stands still while something waits to be committed leaves the in-sync set, if enough stay in it."""
        leader, end_offset = self.leader, self.log.end_offset
        if leader is not None and self.high_watermark < end_offset:
            proposal = leader.propose_without_stalled(end_offset, seconds_max, now.mono)
            if proposal is not None:
                self._propose(self, proposal)

    def is_proposed(self, proposal: Proposal) -> bool:
        return self.leader is not None and self.leader.is_proposed(proposal)

    def on_proposal_sent(self) -> None:
        assert self.leader is not None, self.id
        self.leader.on_proposal_sent()

    def withdraw_proposal(self) -> bool:
        """Whether it could be given up. Without the joiner more may be committed than a moment ago."""
        is_withdrawn = self.leader is None or self.leader.withdraw_proposal()
        self._advance()
        return is_withdrawn

    def on_proposal_refused(self) -> None:
        if self.leader is not None:
            self.leader.on_proposal_refused()
            self._advance()

    # -- following -------------------------------------------------------------------------------------------------

    def append_copies(self, records: memoryview, headers: Sequence[BatchHeader], now: Now) -> None:
        """Batches of the leader, byte for byte."""
        self.log.append(records, headers, now)
        self.bytes_copied_in += len(records)
        self._on_appended()

    def on_leader_word(self, high_watermark: int, start_offset: int, matching_end: int) -> None:
        """How far the leader says all are, and where its log starts. Ours counts only below `matching_end`, up to where
        this fetch has shown it to be the leader's: a tail beyond it may be another leader's, to be cut."""
        self._leader_high_watermark = high_watermark
        self._raise_high_watermark(min(high_watermark, matching_end, self.log.end_offset))
        if start_offset > self.log.start_offset:
            self.log.advance_start(min(start_offset, self.high_watermark))
            self._on_moved()

    @property
    def lag(self) -> int:
        """Offsets that are committed and not here; -1 for a follower that has not heard of its leader yet."""
        if self.is_leader:
            return 0
        heard = self._leader_high_watermark
        return -1 if heard < 0 else max(0, heard - self.log.end_offset)

    def truncate(self, offset: int, now: Now) -> None:
        """Cut what the leader does not have. A recovery point at or below must be durable before (see Log)."""
        self.log.truncate_to(offset, now)
        self.high_watermark = min(self.high_watermark, self.log.end_offset)
        self._on_moved()
        self._flusher.mark(self)

    def restart_at(self, offset: int, now: Now) -> None:
        """Everything we have is older than what the leader still keeps: begin anew where it begins."""
        self.log.truncate_fully_to(offset, now)
        self.high_watermark = offset
        self._on_moved()
        self._flusher.mark(self)

    @property
    def is_proven(self) -> bool:
        """Whether all of the log counts: only then may a fetch name its end, and its last epoch."""
        return self.proven_end >= self.log.end_offset

    def until_proven(self, waiter: Waiter) -> bool:
        """False when all of the log already counts, or never will; otherwise the waiter is told once it does, or the state
        changed."""
        if self.is_proven or self.is_gone:
            return False
        self._synced_waiters.add(self.log.end_offset, waiter, self)
        return True

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        return self.log.start_offset

    def visible_end(self, as_follower: bool, committed_only: bool) -> int:
        if as_follower:
            return self.log.end_offset
        return self.last_stable_offset if committed_only else self.high_watermark

    def read(
        self,
        offset: int,
        max_bytes: int,
        at_least_one: bool,
        as_follower: bool = False,
        committed_only: bool = False,
    ) -> FileRange | None:
        """What a reader may see from `offset` on; None when that is nothing, or does not fit `max_bytes`."""
        log = self.log
        if offset < log.start_offset or offset > log.end_offset:
            self._refuse_offset(offset)
        end_offset = self.visible_end(as_follower, committed_only)
        if offset >= end_offset:
            return None
        try:
            found = log.read(offset, max_bytes, end_offset, at_least_one)
        except CorruptBatch as error:
            raise self._unreadable(error) from error
        if found is not None:
            if as_follower:
                self.bytes_copied_out += found.length
            else:
                self.bytes_out += found.length
                # By their offsets: the batches stay closed. A batch is sent whole, however few of it were asked for.
                self.records_out += found.next_offset - offset
        return found

    def _unreadable(self, error: CorruptBatch) -> Refused:
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.id} cannot be read: {error}")

    def _refuse_offset(self, offset: int) -> None:
        if not self.is_leader and offset > self.log.end_offset:
            raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE, f"this replica of {self.id} is not there yet")
        raise Refused(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{self.id} holds offsets {self.log.start_offset} to {self.log.end_offset}, not {offset}",
        )

    def available_bytes(self, offset: int, as_follower: bool = False, committed_only: bool = False) -> int:
        if self.is_gone:
            return 0
        end_offset = self.visible_end(as_follower, committed_only)
        if not self.log.start_offset <= offset < end_offset:
            return 0
        try:
            return self.log.bytes_between(offset, end_offset)
        except CorruptBatch:
            # Worth an answer: reading will say what is wrong.
            return end_offset - offset

    @property
    def is_watermark_known(self) -> bool:
        return self.leader is None or self.high_watermark >= self.leader.epoch_start_offset

    def check_watermark_known(self) -> None:
        """A new leader learns from its followers how far its predecessor had come; before that, "latest" would lie."""
        if not self.is_watermark_known:
            raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE, f"{self.id} has a new leader; its end is not known yet")

    def find_by_time(self, timestamp: int, committed_only: bool = False) -> tuple[int, int]:
        """(timestamp, offset) of the first record a consumer may see that is not older; both -1 when there is none."""
        try:
            found = self.log.find_by_time(timestamp)
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
            return self.log.max_timestamp()
        except CorruptBatch as error:
            raise self._unreadable(error) from error

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) as OffsetForLeaderEpoch answers; the current epoch may have no batch yet."""
        return self.log.epoch_end(epoch, self.leader_epoch)

    def epoch_at(self, offset: int) -> int:
        if offset >= self.log.end_offset:
            return self.leader_epoch
        return self.log.epoch_at(offset)

    def delete_records(self, before: int) -> int:
        """Move the start of the log up; the new start is what is answered. -1 means up to the high watermark."""
        before = self.high_watermark if before == -1 else before
        if not 0 <= before <= self.high_watermark:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"{self.id} can be cut at 0 to {self.high_watermark}, not at {before}"
            )
        self.log.advance_start(before)
        self._on_moved()
        self._notify()
        return self.log.start_offset

    # -- being looked after ----------------------------------------------------------------------------------------

    def roll(self, now: Now) -> None:
        """Seals the active segment, since only a sealed one can be deleted or cleaned."""
        self.log.roll(now)
        self._flusher.mark(self)

    def roll_if_older(self, than_ms: int, now: Now) -> None:
        active = self.log.segments[-1]
        if active.size and active.first_append_ms < than_ms:
            self.roll(now)

    def on_cleaned(self) -> None:
        """Segments have another name now; the directory that says so is synced with the next round."""
        self._flusher.mark(self)

    def close(self) -> None:
        self._lose_waiters(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._notify()

    def end(self) -> None:
        """It is no longer here. A sync that is under way may still come to its end: then nobody is told, and a reader
        that has not noticed yet finds nothing instead of files that are gone."""
        self.is_gone = True
        self.is_leader = False
        self.leader = None
        self.close()
