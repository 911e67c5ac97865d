"""The transactional ids of one partition of __transaction_state: the entry point for the shell.

    outcome = transactions.handle(command, now)       also on_timer, on_markers_written, expire
    append outcome.records as one batch; for each of them transactions.apply(record); set outcome.timers
    hand in outcome.resumed again
    when the high watermark has passed the append: send outcome.replies, write the markers of outcome.prepared

Between a decision and the `apply` of its records there is no other decision. If the append fails, the whole object is
dropped and a new one is loaded later. To load: `apply` every record of the log, in order, then `on_loaded` once.

A command that comes while markers are on their way waits here for a moment, as most have to wait very little; only when
that takes long is it answered CONCURRENT_TRANSACTIONS, which costs a client 20 to 100 ms each time.
"""

from headrace.base.clock import Now
from headrace.base.outcome import Reply, Timer, TimerKey
from headrace.txns.add import check_producer, decide_add, verify
from headrace.txns.begin import decide_begin
from headrace.txns.end import BUMPS_SINCE, AlreadyDecided, decide_end
from headrace.txns.invariants import assert_follows, assert_not_older
from headrace.txns.outcome import Command, TxnOutcome, TxnRecord, nothing
from headrace.txns.questions import (
    AddPartitions,
    Answer,
    BeginProducer,
    DescribeTransaction,
    EndTransaction,
    Listed,
    ListTransactions,
    Question,
)
from headrace.txns.settings import TxnSettings
from headrace.txns.state import EPOCH_MAX, Transaction, TxnState
from headrace.wire.codes import ErrorCode

PARKED_SECONDS_MAX = 1.0
# Expiry stops after this many ids, and goes on at the next call.
EXPIRED_RECORDS_MAX = 10_000

_TIMEOUT = "timeout"
_PARKED = "parked"


class Transactions:
    def __init__(self, settings: TxnSettings) -> None:
        self.settings = settings
        self.known: dict[str, Transaction] = {}
        # Whether the log was read without gaps; see `invariants`.
        self.is_whole = True
        self._parked: dict[str, list[Command]] = {}
        self._unapplied = 0
        """Records of the last decision that are not applied yet: until then there is no other decision."""

    # -- stored state ------------------------------------------------------------------------------------------------

    def apply(self, record: TxnRecord) -> None:
        self._unapplied = max(0, self._unapplied - 1)
        if self.is_whole:
            assert_not_older(self.known.get(record.transactional_id), record.value)
        if record.value is None:
            self.known.pop(record.transactional_id, None)
        else:
            self.known[record.transactional_id] = record.value

    def on_loaded(self, now: Now) -> TxnOutcome:
        out = nothing()
        for transactional_id, transaction in self.known.items():
            if transaction.state is TxnState.ONGOING:
                out.timers.append(_timeout(transactional_id, transaction, now))
            elif transaction.state.is_prepared:
                out.prepared.append(transactional_id)
        return self._decided(out)

    # -- questions ---------------------------------------------------------------------------------------------------

    def needs_producer_id(self, question: Question) -> bool:
        """Whether the decision may have to give out a new producer id, which only the shell can get."""
        match question:
            case BeginProducer():
                known = self.known.get(question.transactional_id)
                # An open transaction is aborted first, and takes an epoch.
                return known is None or known.producer_epoch + 1 >= EPOCH_MAX
            case EndTransaction():
                known = self.known.get(question.transactional_id)
                return known is not None and known.is_exhausted and question.client_version >= BUMPS_SINCE
        return False

    def handle(self, command: Command, now: Now) -> TxnOutcome:
        return self._decided(self._handle(command, now))

    def _handle(self, command: Command, now: Now) -> TxnOutcome:
        match command.question:
            case BeginProducer():
                return self._begin(command, command.question, now)
            case AddPartitions():
                return self._add(command, command.question, now)
            case EndTransaction():
                return self._end(command, command.question, now)
            case DescribeTransaction():
                return self._describe(command, command.question)
            case ListTransactions():
                return self._list(command, command.question, now)

    def _decided(self, out: TxnOutcome) -> TxnOutcome:
        assert not self._unapplied, f"a decision before {self._unapplied} records of the last one were applied"
        self._unapplied = len(out.records)
        if self.is_whole:
            for record in out.records:
                assert_follows(self.known.get(record.transactional_id), record.value)
        return out

    def _begin(self, command: Command, asked: BeginProducer, now: Now) -> TxnOutcome:
        if not 0 < asked.timeout_ms <= self.settings.transaction_max_timeout_ms:
            return _refused(command, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        known = self.known.get(asked.transactional_id)
        decided = decide_begin(known, asked, now.wall)
        if decided is ErrorCode.CONCURRENT_TRANSACTIONS:
            return self._park(command, asked.transactional_id, now)
        if isinstance(decided, ErrorCode):
            return _refused(command, decided)
        if decided.state is TxnState.PREPARE_ABORT:
            out = self._park(command, asked.transactional_id, now)
            self._prepare(out, asked.transactional_id, decided)
            return out
        out = _answered(command, Answer(ErrorCode.NONE, *decided.identity))
        if decided is not known:
            out.records.append(TxnRecord(asked.transactional_id, decided))
        return out

    def _add(self, command: Command, asked: AddPartitions, now: Now) -> TxnOutcome:
        known = self.known.get(asked.transactional_id)
        code = check_producer(known, asked.producer_id, asked.producer_epoch)
        if code is ErrorCode.CONCURRENT_TRANSACTIONS and asked.may_wait:
            return self._park(command, asked.transactional_id, now)
        if code is not ErrorCode.NONE:
            return _refused(command, code)
        assert known is not None
        if asked.verify_only:
            return _answered(command, verify(known, asked))
        decided = decide_add(known, asked, now.wall)
        out = _answered(command, Answer(ErrorCode.NONE))
        if decided is not known:
            out.records.append(TxnRecord(asked.transactional_id, decided))
            if known.state is not TxnState.ONGOING:
                out.timers.append(_timeout(asked.transactional_id, decided, now))
        return out

    def _end(self, command: Command, asked: EndTransaction, now: Now) -> TxnOutcome:
        if self._is_behind_an_add(asked):
            return self._park(command, asked.transactional_id, now)
        known = self.known.get(asked.transactional_id)
        decided = decide_end(known, asked, now.wall)
        if isinstance(decided, ErrorCode):
            return _refused(command, decided)
        if isinstance(decided, AlreadyDecided):
            assert known is not None
            return _answered(command, Answer(ErrorCode.NONE, *known.identity))
        out = _answered(command, Answer(ErrorCode.NONE, *decided.identity))
        self._prepare(out, asked.transactional_id, decided)
        return out

    def _is_behind_an_add(self, asked: EndTransaction) -> bool:
        """Whether the same producer's AddPartitions still waits for the markers of the last transaction.

        librdkafka aborts without waiting for that answer. Decided at once, the end would be taken for one of the last
        transaction, with the other outcome, and the refusal is fatal to the client.
        """
        producer = asked.producer_id, asked.producer_epoch
        return any(
            isinstance(each.question, AddPartitions)
            and (each.question.producer_id, each.question.producer_epoch) == producer
            for each in self._parked.get(asked.transactional_id, ())
        )

    def _describe(self, command: Command, asked: DescribeTransaction) -> TxnOutcome:
        known = self.known.get(asked.transactional_id)
        if known is None:
            return _refused(command, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return _answered(command, Answer(ErrorCode.NONE, listed=(Listed(asked.transactional_id, known),)))

    def _list(self, command: Command, asked: ListTransactions, now: Now) -> TxnOutcome:
        listed = tuple(
            Listed(transactional_id, transaction)
            for transactional_id, transaction in self.known.items()
            if (not asked.states or transaction.state in asked.states)
            and (not asked.producer_ids or transaction.producer_id in asked.producer_ids)
            and (asked.duration_ms < 0 or 0 <= transaction.started_at < now.wall - asked.duration_ms)
        )
        return _answered(command, Answer(ErrorCode.NONE, listed=listed))

    # -- timers and reports -----------------------------------------------------------------------------------------

    def on_timer(self, key: TimerKey, now: Now) -> TxnOutcome:
        kind, transactional_id = key
        if kind == _PARKED:
            return _refuse_all(self._parked.pop(transactional_id, []))
        out = nothing()
        known = self.known.get(transactional_id)
        if known is not None and known.state is TxnState.ONGOING:
            self._prepare(out, transactional_id, known.fenced(now.wall))
        return self._decided(out)

    def on_markers_written(self, transactional_id: str, producer_id: int, producer_epoch: int, now: Now) -> TxnOutcome:
        """Completes the transaction: every partition has the marker of this epoch. Repeated reports change nothing."""
        out = nothing()
        known = self.known.get(transactional_id)
        if known is None or not known.state.is_prepared:
            return out
        if (known.producer_id, known.producer_epoch) != (producer_id, producer_epoch):
            return out
        out.records.append(TxnRecord(transactional_id, known.completed(now.wall)))
        out.resumed.extend(self._parked.pop(transactional_id, []))
        out.timers.append(Timer((_PARKED, transactional_id), None))
        return self._decided(out)

    def expire(self, now: Now) -> TxnOutcome:
        """Forgets ids that were unused for long and have nothing open. Call again until it brings no more records."""
        out = nothing()
        oldest = now.wall - self.settings.transactional_id_expiration_ms
        for transactional_id, transaction in self.known.items():
            is_idle = transaction.state is TxnState.EMPTY or transaction.state.is_complete
            if is_idle and transaction.updated_at <= oldest:
                out.records.append(TxnRecord(transactional_id, None))
                if len(out.records) >= EXPIRED_RECORDS_MAX:
                    break
        return self._decided(out)

    # -- small steps -------------------------------------------------------------------------------------------------

    def _prepare(self, out: TxnOutcome, transactional_id: str, prepared: Transaction) -> None:
        assert prepared.state.is_prepared, (transactional_id, prepared)
        out.records.append(TxnRecord(transactional_id, prepared))
        out.timers.append(Timer((_TIMEOUT, transactional_id), None))
        out.prepared.append(transactional_id)

    def _park(self, command: Command, transactional_id: str, now: Now) -> TxnOutcome:
        out = nothing()
        waiting = self._parked.setdefault(transactional_id, [])
        if not waiting:
            out.timers.append(Timer((_PARKED, transactional_id), now.mono + PARKED_SECONDS_MAX))
        waiting.append(command)
        return out


def _timeout(transactional_id: str, transaction: Transaction, now: Now) -> Timer:
    left_ms = transaction.started_at + transaction.timeout_ms - now.wall
    # A clock that was set back must not keep a transaction open for longer than it asked for.
    seconds = min(max(0, left_ms), transaction.timeout_ms) / 1000
    return Timer((_TIMEOUT, transactional_id), now.mono + seconds)


def _answered(command: Command, answer: Answer) -> TxnOutcome:
    out = nothing()
    out.replies.append(Reply(command.ticket, answer))
    return out


def _refused(command: Command, code: ErrorCode) -> TxnOutcome:
    return _answered(command, Answer(code))


def _refuse_all(commands: list[Command]) -> TxnOutcome:
    out = nothing()
    out.replies.extend(Reply(command.ticket, Answer(ErrorCode.CONCURRENT_TRANSACTIONS)) for command in commands)
    return out
