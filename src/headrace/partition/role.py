"""One partition's role on this broker: its log, its place in the cluster, and how far it is committed and durable.

What is visible to whom, on the leader of a durable topic:

    start_offset ……… high_watermark ……… synced_end ……… log_end_offset
      consumers read up to here │       on this disk │       followers read up to here

As a leader it has a `LeaderReplica`, which says what is committed; as a follower it hears that from its leader.
Invariant: the start of the log ≤ the high watermark ≤ the end of the log.
"""

from typing import Any, Protocol

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition, format_id
from headrace.cluster.elect import min_isr_to_commit
from headrace.cluster.entities import INTERNAL_TOPICS, PartitionState
from headrace.cluster.topic_config import TopicConfig
from headrace.log.config import LogConfig
from headrace.log.log import Log
from headrace.log.sync import SyncTicket
from headrace.partition.ready import Ready
from headrace.partition.waits import Waits
from headrace.replica.leader import LeaderReplica
from headrace.wire.codes import ErrorCode


def checkpoint_name(topic_id: bytes, index: int) -> TopicPartition:
    """The name of a partition in checkpoint files: by its topic's id, since a name may come back for another topic."""
    return TopicPartition(format_id(topic_id), index)


class Watcher(Protocol):
    """Notes that something a reader could see has changed: more records, a new epoch, a new start. Answers nobody."""

    def on_change(self) -> None: ...


class Copier(Protocol):
    """Notes that something the leader should know of our copy has changed: an epoch, or how far it is."""

    def on_moved(self, partition: Any) -> None: ...


def assert_bounds(role: "Role") -> None:
    """The invariant of every partition: held when its role or its log changes, and before its offsets are written down."""
    log, committed = role.log, role.high_watermark
    bounds = log.start_offset, committed, log.sync.synced_end, log.end_offset
    assert log.start_offset <= committed <= log.end_offset >= log.sync.synced_end, (role.id, bounds)


class Role:
    __slots__ = (
        "broker_id",
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
        "ready",
        "state",
        "topic_id",
        "waits",
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
        high_watermark: int,
        ready: Ready[Any],
    ) -> None:
        self.id = id
        self.topic_id = topic_id
        self.written_as = checkpoint_name(topic_id, id.partition)
        self.is_internal = id.topic in INTERNAL_TOPICS
        self.broker_id = broker_id
        self.log = log
        self.config = config
        self.is_durable = config.is_durable
        self.state = state
        self.leader: LeaderReplica | None = None
        self.is_leader = False
        self.is_gone = False
        self.leader_epoch = -1
        self.high_watermark = max(log.start_offset, min(high_watermark, log.end_offset))
        self.ready = ready
        self.waits = Waits()
        # Dicts for their order: the simulator must see the same one every time.
        self.watchers: dict[Watcher, None] = {}
        self.follower_watchers: dict[Watcher, None] = {}
        self.copier: Copier | None = None

    # -- its place in the cluster ----------------------------------------------------------------------------------

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuses what only a leader, in the epoch the client believes in, may answer."""
        self.check_epoch(current_leader_epoch)
        if not self.is_leader:
            raise self.not_leader()

    def not_leader(self) -> Refused:
        if self.broker_id in self.state.damaged:
            return Refused(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{self.id} is damaged: records that were acknowledged are gone from the disk of broker "
                f"{self.broker_id}. To go on without them, set unclean.leader.election.enable=true on {self.id.topic}",
            )
        return Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.id} is led by broker {self.state.leader}")

    def check_epoch(self, current_leader_epoch: int) -> None:
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return
        if current_leader_epoch < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH, f"the leader epoch is {self.leader_epoch}")
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"the leader epoch is {self.leader_epoch}")

    def on_state(self, state: PartitionState, now: Now) -> None:
        """Takes in a newly committed state: begins to lead, goes on leading with other replicas, or follows."""
        leads_on = self.is_leader and state.leader == self.broker_id and state.leader_epoch == self.leader_epoch
        self.state = state
        # Nobody leads below an epoch of its own log: recovery would take what it wrote for a lost history. Metadata that
        # were restored from an older snapshot say so until the next registration raises the epoch.
        self.is_leader = state.leader == self.broker_id and state.leader_epoch >= self.log.state.epochs.latest
        self.leader_epoch = state.leader_epoch
        if leads_on:
            assert self.leader is not None, self.id
            self.leader.on_replicas(state.replicas, state.isr, self.min_isr, now.mono)
        else:
            self.begin_term(now)
        assert (self.leader is not None) == self.is_leader, (self.id, state)
        assert not self.is_leader or self.broker_id in state.isr, f"{self.id} is led from outside its ISR: {state}"
        assert_bounds(self)
        self._on_changed()

    def begin_term(self, now: Now) -> None:
        """Another leader, or another epoch of the same: nothing that was promised in the one before is told any more."""
        self.ready.tell(self.waits.lose_all(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.leader = None
        if self.is_leader:
            state, end_offset = self.state, self.log.end_offset
            self.leader = LeaderReplica(
                self.broker_id, state.replicas, state.isr, self.min_isr, end_offset, self.high_watermark, now.mono
            )

    @property
    def min_isr(self) -> int:
        return min_isr_to_commit(self.state, self.config.min_insync_replicas)

    def on_config(self, config: TopicConfig, log_config: LogConfig) -> None:
        self.config = config
        # Only when that is written down do acks rest on memory: see `count_on_memory`.
        self.is_durable = self.is_durable or config.is_durable
        self.log.config = log_config
        if self.leader is not None:
            self.leader.on_min_isr(self.min_isr)
        # A topic that became durable owes a sync for what it acknowledged before; one that was relaxed shows its end.
        self.ready.owe_sync(self)
        self._on_changed()

    def _on_changed(self) -> None:
        if self.leader is not None and not self.leader.has_min_isr:
            self.ready.tell(self.waits.lose_committed(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND))
        self.advance()
        self.on_moved()
        self.notify()

    # -- becoming durable and committed ------------------------------------------------------------------------------

    def on_appended(self) -> None:
        """Notes what an append makes due: followers may copy it, the disk is to have it."""
        self.on_moved()
        if self.follower_watchers:
            for watcher in list(self.follower_watchers):
                watcher.on_change()
        if self.is_durable:
            self.ready.owe_sync(self)
            return
        if self.log.sync.is_due(self.log.end_offset, self.config.flush_messages):
            self.ready.owe_sync(self)
        self.advance()

    def begin_sync(self) -> SyncTicket | None:
        return self.log.begin_sync()

    def on_synced(self, ticket: SyncTicket) -> None:
        self.log.on_synced(ticket)
        self.on_moved()
        self.ready.tell(self.waits.reach_synced(self.log.sync.synced_end))
        self.advance()

    @property
    def proven_end(self) -> int:
        """The end that an ack, or a report to the leader, may rest on: the disk on a durable topic, the log otherwise."""
        return self.log.sync.synced_end if self.is_durable else self.log.end_offset

    @property
    def is_proven(self) -> bool:
        """Whether all of the log counts: only then may a fetch name its end, and its last epoch."""
        return self.proven_end >= self.log.end_offset

    def wait(self, end_offset: int, acks: int, waiter: Any, part: object) -> bool:
        """False when an ack is already true; otherwise `waiter` is told when it is, or never can be."""
        if acks == -1:
            if self.high_watermark >= end_offset:
                return False
            self.waits.for_committed(end_offset, waiter, part)
            return True
        if not self.is_durable or self.log.sync.synced_end >= end_offset:
            return False
        self.waits.for_synced(end_offset, waiter, part)
        return True

    def until_proven(self, waiter: Any) -> bool:
        """False when all of the log already counts, or never will; otherwise the waiter is told once it does, or the state
        changed."""
        if self.is_proven or self.is_gone:
            return False
        self.waits.for_synced(self.log.end_offset, waiter, self)
        return True

    def advance(self) -> None:
        """Raises the watermark as far as the in-sync replicas are, when it leads."""
        if self.leader is not None:
            self.raise_high_watermark(self.leader.advance(self.proven_end))

    def raise_high_watermark(self, high_watermark: int) -> None:
        if high_watermark > self.high_watermark:
            assert high_watermark <= self.log.end_offset, (self.id, high_watermark, self.log.end_offset)
            self.high_watermark = high_watermark
            self.on_moved()
            self.log.state.transactions.on_high_watermark(high_watermark)
            if told := self.waits.reach_committed(high_watermark):
                self.ready.tell(told)
            if self.watchers or self.follower_watchers:
                self.notify()

    def on_moved(self) -> None:
        self.ready.moved[self] = None
        if self.copier is not None:
            self.copier.on_moved(self)

    def notify(self) -> None:
        for watcher in list(self.watchers):
            watcher.on_change()
        for watcher in list(self.follower_watchers):
            watcher.on_change()


def count_on_memory(role: Role) -> None:
    """Lets acks of a relaxed topic rest on memory. It is on disk by now that they do: after a power cut the broker knows by
    itself that it lacks some."""
    if role.is_durable and not role.config.is_durable:
        role.is_durable = False
        role._on_changed()
