"""The transactions of one partition of `__transaction_state`, on its leader. How it stores and answers: `logged`.

When a transaction's outcome is committed its markers are written, by `markers`; only then is it complete. Whoever
coordinates next does the same again for those it finds prepared, so no transaction is left hanging by a crash.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.base.clock import Now
from headrace.base.errors import Refused, StoreUnreachable
from headrace.base.outcome import Reply, TimerKey
from headrace.broker.coordinators.logged import LoggedCoordinator
from headrace.broker.coordinators.markers import MarkerJob
from headrace.broker.coordinators.tickets import NO_TICKET, Unanswered
from headrace.partition.partition import Partition
from headrace.txns.coordinator import Transactions
from headrace.txns.outcome import Command, TxnOutcome
from headrace.txns.questions import Answer, BeginProducer, EndTransaction, Question
from headrace.txns.records import decode, encode
from headrace.txns.state import NO_PRODUCER
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record, build_batch, read_records

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


class TransactionCoordinator(LoggedCoordinator[TxnOutcome]):
    def __init__(self, broker: "Broker", partition: Partition, transactions: Transactions) -> None:
        super().__init__(broker, partition)
        self.transactions = transactions

    # -- asking ------------------------------------------------------------------------------------------------------

    def ask(self, question: Question, answer: Callable[[Answer], None]) -> int:
        """A ticket to withdraw the question with."""
        if self.is_over:
            answer(Answer(ErrorCode.NOT_COORDINATOR))
            return NO_TICKET
        ticket = self._tickets.take(Unanswered(question, 0, answer))
        self._handle_when_active(Command(ticket, question))
        return ticket

    def expire(self) -> None:
        if self.is_active and self._knows_ages(self.transactions.settings.transactional_id_expiration_ms):
            self._carry_out(self.transactions.expire(self._now_to_forget()))

    # -- the core ----------------------------------------------------------------------------------------------------

    def _replay(self, batch: memoryview, header: BatchHeader) -> None:
        if header.is_control:
            return
        for record in read_records(batch):
            decoded = decode(record.key, record.value)
            if decoded is not None:
                self.transactions.apply(decoded)

    def _on_loaded(self) -> None:
        self._carry_out(self.transactions.on_loaded(self._now()))

    def _handle(self, command: Command) -> None:
        question = command.question
        may_need_id = isinstance(question, BeginProducer | EndTransaction) and question.fresh_producer_id == NO_PRODUCER
        if may_need_id and self.transactions.needs_producer_id(question):
            self._broker.tasks.start("producer id", self._handle_with_producer_id(command.ticket, question))
        else:
            self._carry_out(self.transactions.handle(command, self._now()))

    async def _handle_with_producer_id(self, ticket: int, question: Any) -> None:
        try:
            fresh = await self._broker.producer_ids.next()
        except (Refused, StoreUnreachable):
            self._tickets.answer([Reply(ticket, Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE))])
            return
        if self.is_active:
            command = Command(ticket, question._replace(fresh_producer_id=fresh))
            self._carry_out(self.transactions.handle(command, self._now()))

    def _decide_timer(self, key: TimerKey, now: Now) -> TxnOutcome:
        return self.transactions.on_timer(key, now)

    def _batch_of(self, outcome: TxnOutcome, now: Now) -> bytes:
        pairs = [encode(record) for record in outcome.records]
        return build_batch([Record(timestamp=now.wall, key=key, value=value) for key, value in pairs])

    def _apply(self, outcome: TxnOutcome) -> None:
        for record in outcome.records:
            self.transactions.apply(record)

    def _refusal(self, request: Any, version: int, code: ErrorCode) -> Answer:
        return Answer(code)

    # -- ending transactions -----------------------------------------------------------------------------------------

    def _carry_out(self, outcome: TxnOutcome) -> None:
        super()._carry_out(outcome)
        if self.is_over:
            return
        if outcome.prepared and not self.partition.wait(self._seen_end, -1, _Prepared(self), outcome.prepared):
            self.write_markers(outcome.prepared)
        for command in outcome.resumed:
            if self.is_active:
                self._handle(command)

    def write_markers(self, transactional_ids: Sequence[str]) -> None:
        """Their outcome is committed: tell every partition. Nothing else may, or a fail-over could decide otherwise."""
        for transactional_id in transactional_ids:
            transaction = self.transactions.known.get(transactional_id)
            if transaction is not None and transaction.state.is_prepared and self.is_active:
                self._broker.markers.write(
                    MarkerJob(
                        transaction.producer_id,
                        transaction.producer_epoch,
                        transaction.state.commits,
                        self.leader_epoch,
                        transaction.client_version,
                        dict.fromkeys(sorted(transaction.partitions)),
                        lambda: self.is_active,
                        self._when_written(transactional_id, transaction.producer_id, transaction.producer_epoch),
                    )
                )

    def _when_written(self, transactional_id: str, producer_id: int, producer_epoch: int) -> Callable[[], None]:
        def done() -> None:
            if self.is_active:
                now = self._now()
                self._carry_out(
                    self.transactions.on_markers_written(transactional_id, producer_id, producer_epoch, now)
                )

        return done


class _Prepared:
    """Waits for the outcome of transactions to be committed."""

    def __init__(self, coordinator: TransactionCoordinator) -> None:
        self._coordinator = coordinator

    def is_waiting(self, transactional_ids: Sequence[str]) -> bool:
        return not self._coordinator.is_over

    def on_reached(self, transactional_ids: Sequence[str]) -> None:
        self._coordinator.write_markers(transactional_ids)

    def on_lost(self, transactional_ids: Sequence[str], code: int) -> None:
        self._coordinator.give_up()
