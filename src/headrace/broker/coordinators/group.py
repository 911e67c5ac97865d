"""The groups of one partition of `__consumer_offsets`, on its leader. How it stores and answers: `logged`.

Offsets that are committed in one turn of the loop share a batch.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.base.ids import ZERO_ID
from headrace.base.outcome import TimerKey
from headrace.broker.coordinators.logged import LoggedCoordinator
from headrace.broker.coordinators.tickets import Unanswered
from headrace.groups.coordinator import Groups
from headrace.groups.outcome import Command, GroupOutcome, nothing
from headrace.groups.records import decode, encode
from headrace.groups.refusals import refused, refused_commit
from headrace.groups.topics import Sight, Topics, all_in_sight
from headrace.groups.transactional_commit import TransactionalCommit
from headrace.partition.partition import Partition
from headrace.partition.verification import Verification
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages.group_offsets import OffsetCommitRequest
from headrace.wire.messages.groups_classic import JoinGroupRequest
from headrace.wire.messages.groups_consumer import ConsumerGroupHeartbeatRequest
from headrace.wire.records import Marker, build_batch, read_marker, read_records
from headrace.wire.records import Record as LogRecord
from headrace.wire.schema import Response

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

# A member id is stored with its group; a client's name must not make that large.
NAMED_AFTER_MAX = 255
# Requests of which a new member may come. For others no id is made: chance costs a system call.
_JOINS = (JoinGroupRequest, ConsumerGroupHeartbeatRequest)


class GroupCoordinator(LoggedCoordinator[GroupOutcome]):
    def __init__(self, broker: "Broker", partition: Partition, groups: Groups) -> None:
        super().__init__(broker, partition)
        self.groups = groups
        self._turn = nothing()
        self._is_turn_due = False

    # -- asking ------------------------------------------------------------------------------------------------------

    def ask(
        self,
        request: Any,
        version: int,
        client_id: str,
        client_host: str,
        answer: Callable[[Response], None],
        sight: Sight = all_in_sight,
    ) -> None:
        if self.is_over:
            answer(refused(request, version, ErrorCode.NOT_COORDINATOR))
            return
        ticket = self._tickets.take(Unanswered(request, version, answer))
        fresh_id = self._fresh_id(request, client_id) if isinstance(request, _JOINS) else ""
        self._handle_when_active(Command(ticket, request, version, client_id, client_host, fresh_id, sight))

    def _fresh_id(self, request: Any, client_id: str) -> str:
        named_after = getattr(request, "group_instance_id", None) or client_id
        return f"{named_after[:NAMED_AFTER_MAX]}-{self._broker.new_uuid()}"

    def commit_in_transaction(
        self, asked: TransactionalCommit, verification: Verification | None, answer: Callable[[Response], None]
    ) -> None:
        """Offsets that count when the producer's transaction does. `verification` as for any first write of one."""
        if not self._has_stored_turn():
            code = ErrorCode.NOT_COORDINATOR if self.is_over else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            answer(refused_commit(asked.commit, code))
            return
        try:
            fenced = self.partition.log.state.producers.check_epoch(asked.producer_id, asked.producer_epoch)
            if fenced is not None:
                raise Refused(fenced, f"producer {asked.producer_id} has a newer epoch")
            self.partition.verifications.check(asked.producer_id, asked.producer_epoch, verification)
        except Refused as refusal:
            code = CODES[refusal.code]
            if code is ErrorCode.NOT_ENOUGH_REPLICAS:
                code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            answer(refused_commit(asked.commit, code))
            return
        ticket = self._tickets.take(Unanswered(asked, 0, answer))
        self._handle(Command(ticket, asked, 0))

    def end_transaction(self, marker: Marker, producer_id: int, producer_epoch: int, transaction_version: int) -> int:
        """Appends a marker, as `Appends.append_marker` does; the group's offsets change with it."""
        # Before the question: what it cannot store, or may not in this epoch, ends this coordinator.
        if not self._has_stored_turn():
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self.partition.id} is being read")
        now = self._now()
        end = self.partition.appends.append_marker(marker, producer_id, producer_epoch, transaction_version, now)
        self._seen_end = max(self._seen_end, end)
        self.groups.end_transaction(producer_id, marker.commit)
        return end

    def expire(self) -> None:
        if self._has_stored_turn():
            knows_ages = self._knows_ages(self.groups.settings.offsets_retention_ms)
            self._carry_out(self.groups.expire(self._now_to_forget(), knows_ages))

    def on_topics(self, topics: Topics) -> None:
        self.groups.on_topics(topics)

    def forget_deleted_topics(self) -> None:
        """Offsets of topics that are gone, or that were made anew since under the same name."""
        topics = self._broker.image.topics

        def is_gone(name: str, topic_id: bytes) -> bool:
            topic = topics.get(name)
            return topic is None or topic_id not in (ZERO_ID, topic.id)

        if self._has_stored_turn():
            self._carry_out(self.groups.on_topics_deleted(is_gone))

    # -- the core ----------------------------------------------------------------------------------------------------

    def _replay(self, batch: memoryview, header: BatchHeader) -> None:
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                self.groups.end_transaction(header.producer_id, marker.commit)
            return
        for record in read_records(batch):
            decoded = decode(record.key, record.value)
            if decoded is None:
                continue
            if header.is_transactional:
                self.groups.apply_pending(header.producer_id, decoded)
            else:
                self.groups.apply(decoded)

    def _on_loaded(self) -> None:
        self._carry_out(self.groups.on_loaded(self._now()))
        self.forget_deleted_topics()

    def _handle(self, command: Command) -> None:
        if isinstance(command.request, OffsetCommitRequest):
            self._store_with_turn(self._decided(lambda: self.groups.handle(command, self._now())))
        elif self._has_stored_turn():
            self._carry_out(self._decided(lambda: self.groups.handle(command, self._now())))

    def _on_timer(self, key: TimerKey) -> None:
        self._has_stored_turn()
        super()._on_timer(key)

    def _decide_timer(self, key: TimerKey, now: Now) -> GroupOutcome:
        return self._decided(lambda: self.groups.on_timer(key, now))

    def _decided(self, decide: Callable[[], GroupOutcome]) -> GroupOutcome:
        try:
            return decide()
        except Exception:
            # Half a decision must not outlive the bug that broke it off: the log knows nothing of it.
            self.give_up()
            raise

    # -- one batch for all commits of one turn of the loop -----------------------------------------------------------

    def _store_with_turn(self, outcome: GroupOutcome) -> None:
        """A thousand commits a second come a few at a time, and cost one append for those few. They may wait for each other
        unapplied, since no commit is decided by another's offsets; any other decision stores them first."""
        self._turn.records.extend(outcome.records)
        self._turn.replies.extend(outcome.replies)
        self._turn.timers.extend(outcome.timers)
        if not self._is_turn_due:
            self._is_turn_due = True
            asyncio.get_running_loop().call_soon(self._store_turn)

    def _store_turn(self) -> None:
        turn, self._turn = self._turn, nothing()
        self._is_turn_due = False
        if not self.is_over:
            self._carry_out(turn)

    def _has_stored_turn(self) -> bool:
        """Stores the commits of this turn, so that the next decision sees them; whether this still coordinates."""
        if self._is_turn_due:
            self._store_turn()
        return self.is_active

    def _batch_of(self, outcome: GroupOutcome, now: Now) -> bytes:
        pairs = [encode(record) for record in outcome.records]
        records = [LogRecord(timestamp=now.wall, key=key, value=value) for key, value in pairs]
        if outcome.producer is None:
            return build_batch(records)
        producer_id, epoch = outcome.producer
        return build_batch(records, producer_id=producer_id, producer_epoch=epoch, transactional=True)

    def _apply(self, outcome: GroupOutcome) -> None:
        for record in outcome.records:
            if outcome.producer is None:
                self.groups.apply(record)
            else:
                self.groups.apply_pending(outcome.producer[0], record)

    def _refusal(self, request: Any, version: int, code: ErrorCode) -> Response:
        if isinstance(request, TransactionalCommit):
            return refused_commit(request.commit, code)
        return refused(request, version, code)
