"""The transactions of one partition of `__transaction_state`, on its leader. How they are stored and answered:
`decision_log`.

When a transaction's outcome is committed its markers are written, by `markers`; only then is it complete. Whoever
coordinates next does the same again for those it finds prepared, so no transaction is left hanging by a crash.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.base.clock import Now
from headrace.base.errors import Refused, StoreUnreachable
from headrace.base.outcome import Reply, TimerKey
from headrace.broker.coordinators.ages import Ages
from headrace.broker.coordinators.decision_log import DecisionLog
from headrace.broker.coordinators.log_replay import LogReplay
from headrace.broker.coordinators.markers import MarkerJob
from headrace.broker.coordinators.tickets import NO_TICKET, Tickets, Unanswered
from headrace.broker.coordinators.timers import Timers
from headrace.partition.partition import Partition
from headrace.txns.batches import TxnBatches
from headrace.txns.coordinator import Transactions
from headrace.txns.outcome import Command, TxnOutcome
from headrace.txns.questions import Answer, BeginProducer, EndTransaction, Question
from headrace.txns.state import NO_PRODUCER
from headrace.wire.codes import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


class TransactionCoordinator:
    def __init__(self, broker: "Broker", partition: Partition, transactions: Transactions) -> None:
        self.transactions = transactions
        self.tickets = Tickets()
        self.decisions: DecisionLog[TxnOutcome] = DecisionLog(
            partition,
            TxnBatches(transactions),
            self.tickets,
            Timers(broker.deadlines, broker.clock, self._on_timer),
            broker.check_lease,
            lambda bug: broker.listeners.on_disk_failed(bug),
        )
        self._broker = broker
        self._ages = Ages(broker.clock, broker.credible_time)

    async def load(self) -> None:
        if await self.decisions.load(LogReplay(self._broker.rot, self._broker.loading)):
            self._carry_out(self.transactions.on_loaded)
            for command in self.tickets.take_held():
                self._handle(command)

    # -- asking ------------------------------------------------------------------------------------------------------

    def ask(self, question: Question, answer: Callable[[Answer], None]) -> int:
        """A ticket to withdraw the question with."""
        if self.decisions.is_over:
            answer(Answer(ErrorCode.NOT_COORDINATOR))
            return NO_TICKET
        command = Command(self.tickets.take(Unanswered(question, 0, answer)), question)
        if self.decisions.is_active:
            self._handle(command)
        else:
            self.tickets.hold(command)
        return command.ticket

    def expire(self) -> None:
        """Forgets ids that nobody has used for long."""
        kept_ms = self.transactions.settings.transactional_id_expiration_ms
        if self.decisions.is_active and self._ages.are_known(kept_ms):
            self._carry_out(lambda now: self.transactions.expire(self._ages.now(now)))

    # -- deciding ----------------------------------------------------------------------------------------------------

    def _handle(self, command: Command) -> None:
        if not self.decisions.is_active:
            return
        question = command.question
        may_need_id = isinstance(question, BeginProducer | EndTransaction) and question.fresh_producer_id == NO_PRODUCER
        if may_need_id and self.transactions.needs_producer_id(question):
            self._broker.tasks.start("producer id", self._handle_with_producer_id(command.ticket, question))
        else:
            self._carry_out(lambda now: self.transactions.handle(command, now))

    async def _handle_with_producer_id(self, ticket: int, question: Any) -> None:
        try:
            fresh = await self._broker.producer_ids.next()
        except (Refused, StoreUnreachable):
            self.tickets.answer([Reply(ticket, Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE))])
            return
        if self.decisions.is_active:
            command = Command(ticket, question._replace(fresh_producer_id=fresh))
            self._carry_out(lambda now: self.transactions.handle(command, now))

    def _on_timer(self, key: TimerKey) -> None:
        if self.decisions.is_active:
            self._carry_out(lambda now: self.transactions.on_timer(key, now))

    def _carry_out(self, decision: Callable[[Now], TxnOutcome]) -> None:
        outcome = self.decisions.decide(decision)
        if not self.decisions.carry_out(outcome):
            return
        if outcome.prepared and not self.decisions.wait(_Prepared(self), outcome.prepared):
            self.write_markers(outcome.prepared)
        for command in outcome.resumed:
            self._handle(command)

    # -- ending transactions -----------------------------------------------------------------------------------------

    def write_markers(self, transactional_ids: Sequence[str]) -> None:
        """Their outcome is committed: tell every partition. Nothing else may, or a fail-over could decide otherwise."""
        for transactional_id in transactional_ids:
            transaction = self.transactions.known.get(transactional_id)
            if transaction is not None and transaction.state.is_prepared and self.decisions.is_active:
                self._broker.markers.write(
                    MarkerJob(
                        transaction.producer_id,
                        transaction.producer_epoch,
                        transaction.state.commits,
                        self.decisions.leader_epoch,
                        transaction.client_version,
                        dict.fromkeys(sorted(transaction.partitions)),
                        lambda: self.decisions.is_active,
                        self._when_written(transactional_id, transaction.producer_id, transaction.producer_epoch),
                    )
                )

    def _when_written(self, transactional_id: str, producer_id: int, producer_epoch: int) -> Callable[[], None]:
        def complete(now: Now) -> TxnOutcome:
            return self.transactions.on_markers_written(transactional_id, producer_id, producer_epoch, now)

        def done() -> None:
            if self.decisions.is_active:
                self._carry_out(complete)

        return done


class _Prepared:
    """Waits for the outcome of transactions to be committed."""

    def __init__(self, coordinator: TransactionCoordinator) -> None:
        self._coordinator = coordinator

    def is_waiting(self, transactional_ids: Sequence[str]) -> bool:
        return not self._coordinator.decisions.is_over

    def on_reached(self, transactional_ids: Sequence[str]) -> None:
        self._coordinator.write_markers(transactional_ids)

    def on_lost(self, transactional_ids: Sequence[str], code: int) -> None:
        self._coordinator.decisions.resign()
