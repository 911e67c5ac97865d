"""A shell for the core that keeps everything in lists: what was stored, answered, set and prepared."""

from headrace.base.clock import Now
from headrace.txns.coordinator import Transactions
from headrace.txns.outcome import Command, TxnOutcome, TxnRecord
from headrace.txns.questions import AddPartitions, Answer, BeginProducer, EndTransaction, Question
from headrace.txns.records import decode, encode
from headrace.txns.settings import TxnSettings
from headrace.txns.state import Transaction
from headrace.wire.codes import ErrorCode

ID = "orders"
ORDERS = frozenset({("orders", 0), ("orders", 1)})


class Desk:
    def __init__(self, settings: TxnSettings | None = None) -> None:
        self.settings = settings or TxnSettings()
        self.transactions = Transactions(self.settings)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.answers: dict[int, Answer] = {}
        self.timers: dict[tuple[str, ...], float] = {}
        self.prepared: list[str] = []
        self.now = Now(1000.0, 1_000_000)
        self.fresh_id = 100
        self._tickets = 0

    def ask(self, question: Question) -> Answer | None:
        """None while it waits."""
        self._tickets += 1
        ticket = self._tickets
        self.handle(Command(ticket, question))
        return self.answers.get(ticket)

    def handle(self, command: Command) -> None:
        question = command.question
        if isinstance(question, BeginProducer | EndTransaction) and self.transactions.needs_producer_id(question):
            self.fresh_id += 1
            command = Command(command.ticket, question._replace(fresh_producer_id=self.fresh_id))
        self.carry_out(self.transactions.handle(command, self.now))

    def carry_out(self, outcome: TxnOutcome) -> None:
        for record in outcome.records:
            self.log.append(encode(record))
            self.transactions.apply(record)
        for timer in outcome.timers:
            self.timers.pop(timer.key, None)
            if timer.at is not None:
                self.timers[timer.key] = timer.at
        for reply in outcome.replies:
            assert reply.ticket not in self.answers, "answered twice"
            self.answers[reply.ticket] = reply.response
        self.prepared += outcome.prepared
        for command in outcome.resumed:
            self.handle(command)

    def fail_over(self) -> None:
        """Another broker reads the log."""
        self.transactions = Transactions(self.settings)
        self.timers.clear()
        self.prepared.clear()
        for key, value in self.log:
            record = decode(key, value)
            assert record is not None
            self.transactions.apply(record)
        self.carry_out(self.transactions.on_loaded(self.now))

    def pass_time(self, seconds: float) -> None:
        self.now = Now(self.now.mono + seconds, self.now.wall + int(seconds * 1000))
        for key in [key for key, at in self.timers.items() if at <= self.now.mono]:
            if self.timers.pop(key, None) is not None:
                self.carry_out(self.transactions.on_timer(key, self.now))

    def write_markers(self) -> None:
        prepared, self.prepared = self.prepared, []
        for name in prepared:
            known = self.known(name)
            self.carry_out(
                self.transactions.on_markers_written(name, known.producer_id, known.producer_epoch, self.now)
            )

    def known(self, name: str = ID) -> Transaction:
        return self.transactions.known[name]

    def put(self, transaction: Transaction, name: str = ID) -> None:
        self.carry_out(TxnOutcome([TxnRecord(name, transaction)]))

    # -- what clients ask --------------------------------------------------------------------------------------------

    def begin(self, *, timeout_ms: int = 60_000, expected: tuple[int, int] = (-1, -1)) -> Answer | None:
        return self.ask(BeginProducer(ID, timeout_ms, *expected))

    def add(
        self,
        producer: tuple[int, int],
        partitions: frozenset[tuple[str, int]] = ORDERS,
        *,
        verify: bool = False,
        client: int = 1,
    ) -> Answer | None:
        return self.ask(AddPartitions(ID, *producer, partitions, verify, client))

    def end(self, producer: tuple[int, int], *, commit: bool = True, client: int = 1) -> Answer | None:
        return self.ask(EndTransaction(ID, *producer, commit, client))

    def begun(self) -> tuple[int, int]:
        answer = self.begin()
        assert answer is not None
        assert answer.code is ErrorCode.NONE, answer
        return answer.producer_id, answer.producer_epoch
