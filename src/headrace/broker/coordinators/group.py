"""The groups of one partition of `__consumer_offsets`, on its leader. How they are stored and answered: `decision_log`.

Offsets that are committed in one turn of the loop share a batch.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.base.ids import ZERO_ID
from headrace.base.outcome import TimerKey
from headrace.broker.coordinators.ages import Ages
from headrace.broker.coordinators.commits_of_turn import CommitsOfTurn
from headrace.broker.coordinators.decision_log import DecisionLog
from headrace.broker.coordinators.log_replay import LogReplay
from headrace.broker.coordinators.tickets import Tickets, Unanswered
from headrace.broker.coordinators.timers import Timers
from headrace.groups.batches import GroupBatches
from headrace.groups.commits import TransactionalCommit
from headrace.groups.coordinator import Groups
from headrace.groups.outcome import Command, GroupOutcome
from headrace.groups.refusals import refused, refused_commit
from headrace.groups.topics import Sight, all_in_sight
from headrace.partition.partition import Partition
from headrace.partition.verification import Verification
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages.group_offsets import OffsetCommitRequest
from headrace.wire.messages.groups_classic import JoinGroupRequest
from headrace.wire.messages.groups_consumer import ConsumerGroupHeartbeatRequest
from headrace.wire.records import Marker
from headrace.wire.schema import Response

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

# A member id is stored with its group; a client's name must not make that large.
NAMED_AFTER_MAX = 255
# Requests of which a new member may come. For others no id is made: chance costs a system call.
_JOINS = (JoinGroupRequest, ConsumerGroupHeartbeatRequest)


class GroupCoordinator:
    def __init__(self, broker: "Broker", partition: Partition, groups: Groups) -> None:
        self.groups = groups
        self.partition = partition
        self.tickets = Tickets()
        self.decisions: DecisionLog[GroupOutcome] = DecisionLog(
            partition,
            GroupBatches(groups),
            self.tickets,
            Timers(broker.deadlines, broker.clock, self._on_timer),
            broker.check_lease,
            lambda bug: broker.listeners.on_disk_failed(bug),
        )
        self._broker = broker
        self._ages = Ages(broker.clock, broker.credible_time)
        self._commits = CommitsOfTurn(self.decisions.carry_out)

    async def load(self) -> None:
        if await self.decisions.load(LogReplay(self._broker.rot, self._broker.loading)):
            self._carry_out(self.groups.on_loaded)
            self.forget_deleted_topics()
            for command in self.tickets.take_held():
                self._handle(command)

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
        if self.decisions.is_over:
            answer(refused(request, version, ErrorCode.NOT_COORDINATOR))
            return
        ticket = self.tickets.take(Unanswered(request, version, answer))
        fresh_id = self._fresh_id(request, client_id) if isinstance(request, _JOINS) else ""
        command = Command(ticket, request, version, client_id, client_host, fresh_id, sight)
        if self.decisions.is_active:
            self._handle(command)
        else:
            self.tickets.hold(command)

    def _fresh_id(self, request: Any, client_id: str) -> str:
        named_after = getattr(request, "group_instance_id", None) or client_id
        return f"{named_after[:NAMED_AFTER_MAX]}-{self._broker.new_uuid()}"

    def commit_in_transaction(
        self, asked: TransactionalCommit, verification: Verification | None, answer: Callable[[Response], None]
    ) -> None:
        """Offsets that count when the producer's transaction does. `verification` as for any first write of one."""
        if not self._has_stored_turn():
            code = ErrorCode.NOT_COORDINATOR if self.decisions.is_over else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
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
        self._handle(Command(self.tickets.take(Unanswered(asked, 0, answer)), asked, 0))

    def end_transaction(self, marker: Marker, producer_id: int, producer_epoch: int, transaction_version: int) -> int:
        """Appends a marker, as `Appends.append_marker` does; the group's offsets change with it."""
        # Before the question: what it cannot store, or may not in this epoch, ends this coordinator.
        if not self._has_stored_turn():
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self.partition.id} is being read")
        now = self._broker.check_lease()
        end = self.partition.appends.append_marker(marker, producer_id, producer_epoch, transaction_version, now)
        self.decisions.on_appended(end)
        self.groups.end_transaction(producer_id, marker.commit)
        return end

    # -- chores ------------------------------------------------------------------------------------------------------

    def expire(self) -> None:
        """Forgets offsets and groups that nobody has used for long."""
        if self._has_stored_turn():
            knows_ages = self._ages.are_known(self.groups.table.settings.offsets_retention_ms)
            self._carry_out(lambda now: self.groups.expire(self._ages.now(now), knows_ages))

    def forget_deleted_topics(self) -> None:
        """Offsets of topics that are gone, or that were made anew since under the same name."""
        topics = self._broker.image.topics

        def is_gone(name: str, topic_id: bytes) -> bool:
            topic = topics.get(name)
            return topic is None or topic_id not in (ZERO_ID, topic.id)

        if self._has_stored_turn():
            self._carry_out(lambda now: self.groups.on_topics_deleted(is_gone))

    # -- deciding ----------------------------------------------------------------------------------------------------

    def _handle(self, command: Command) -> None:
        if not self.decisions.is_active:
            return
        if isinstance(command.request, OffsetCommitRequest):
            self._commits.add(self.decisions.decide(lambda now: self.groups.handle(command, now)))
        elif self._has_stored_turn():
            self._carry_out(lambda now: self.groups.handle(command, now))

    def _on_timer(self, key: TimerKey) -> None:
        if self._has_stored_turn():
            self._carry_out(lambda now: self.groups.on_timer(key, now))

    def _carry_out(self, decision: Callable[[Now], GroupOutcome]) -> None:
        self.decisions.carry_out(self.decisions.decide(decision))

    def _has_stored_turn(self) -> bool:
        """Stores the commits of this turn, so that the next decision sees them; whether this still coordinates."""
        self._commits.store()
        return self.decisions.is_active
