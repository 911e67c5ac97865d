"""Two generations of producers, zombies, lost answers, time-outs, late markers and moving coordinators, over partitions
that keep the rules a leader keeps. Whatever happens, each transaction is seen whole or not at all."""

from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from txn_desk import ID, Desk

from headrace.txns.state import TxnState
from headrace.wire.codes import ErrorCode

PARTITIONS = [("orders", 0), ("orders", 1), ("stock", 0)]


class Marker(NamedTuple):
    producer_id: int
    epoch: int
    commit: bool
    coordinator_epoch: int
    version: int
    partition: tuple[str, int]


class Log:
    """A partition: who is in a transaction here, and what became of what they wrote."""

    def __init__(self) -> None:
        self.epochs: dict[int, int] = {}
        self.coordinator_epochs: dict[int, int] = {}
        self.open: dict[int, list[str]] = {}
        self.committed: list[str] = []

    def is_in_transaction(self, producer: tuple[int, int]) -> bool:
        return producer[0] in self.open and self.epochs[producer[0]] == producer[1]

    def write(self, producer: tuple[int, int], value: str) -> None:
        self.epochs[producer[0]] = producer[1]
        self.open.setdefault(producer[0], []).append(value)

    def mark(self, marker: Marker) -> ErrorCode:
        known = self.epochs.get(marker.producer_id)
        is_open = marker.producer_id in self.open
        if known is not None:
            if marker.epoch < known or (marker.version >= 2 and marker.epoch == known and is_open):
                return ErrorCode.INVALID_PRODUCER_EPOCH
            if marker.coordinator_epoch < self.coordinator_epochs.get(marker.producer_id, -1):
                return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        self.epochs[marker.producer_id] = marker.epoch
        self.coordinator_epochs[marker.producer_id] = marker.coordinator_epoch
        values = self.open.pop(marker.producer_id, [])
        if marker.commit:
            self.committed += values
        return ErrorCode.NONE


class Client:
    """One life of an application with this transactional id."""

    def __init__(self, number: int, generation: int) -> None:
        self.number = number
        self.generation = generation
        self.producer: tuple[int, int] | None = None
        self.transaction = 0
        self.asked_to_end: bool | None = None
        self.is_fenced = False

    @property
    def label(self) -> str:
        return f"{self.number}.{self.transaction}"


class World(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.coordinator_epoch = 0
        self.logs = {partition: Log() for partition in PARTITIONS}
        self.due: list[Marker] = []
        self.late: list[Marker] = []
        self.clients: list[Client] = []
        self.written: dict[str, list[str]] = {}
        self.promised: dict[str, bool] = {}

    # -- producers ---------------------------------------------------------------------------------------------------

    @rule(generation=st.sampled_from([1, 2]))
    def begin(self, generation: int) -> None:
        client = Client(len(self.clients), generation)
        answer = self.desk.begin()
        self._send_markers()
        if answer is None or answer.code is not ErrorCode.NONE:
            return
        client.producer = answer.producer_id, answer.producer_epoch
        self.clients.append(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def write(self, data: st.DataObject, partition: tuple[str, int]) -> None:
        """Zombies too: any client that ever was may come back."""
        client = data.draw(st.sampled_from(self.clients[-3:]))
        if client.is_fenced or client.asked_to_end is not None:
            return
        assert client.producer is not None
        log = self.logs[partition]
        if client.generation == 1 and not self._ask_to_add(client, partition, verify=False):
            return
        known = log.epochs.get(client.producer[0], -1)
        if client.producer[1] < known:
            client.is_fenced = True
            return
        if not log.is_in_transaction(client.producer):
            if not self._ask_to_add(client, partition, verify=client.generation == 1):
                return
            assert client.producer[0] not in log.open, "the last transaction's marker is in before the next begins"
        value = f"{client.label}:{len(self.written.get(client.label, []))}"
        log.write(client.producer, value)
        self.written.setdefault(client.label, []).append(value)

    def _ask_to_add(self, client: Client, partition: tuple[str, int], verify: bool) -> bool:
        assert client.producer is not None
        answer = self.desk.add(client.producer, frozenset({partition}), verify=verify, client=client.generation)
        if answer is None or answer.code is ErrorCode.CONCURRENT_TRANSACTIONS:
            return False
        if answer.code is not ErrorCode.NONE:
            client.is_fenced = True
        return answer.code is ErrorCode.NONE and not answer.missing

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), commit=st.booleans(), is_answer_lost=st.booleans())
    def end(self, data: st.DataObject, commit: bool, is_answer_lost: bool) -> None:
        client = data.draw(st.sampled_from(self.clients[-3:]))
        if client.is_fenced:
            return
        assert client.producer is not None
        commit = commit if client.asked_to_end is None else client.asked_to_end
        answer = self.desk.end(client.producer, commit=commit, client=client.generation)
        self._send_markers()
        client.asked_to_end = commit
        if is_answer_lost or answer is None or answer.code is ErrorCode.CONCURRENT_TRANSACTIONS:
            return
        client.asked_to_end = None
        if answer.code is ErrorCode.NONE:
            self.promised[client.label] = commit
            client.transaction += 1
            client.producer = answer.producer_id, answer.producer_epoch
        elif answer.code is not ErrorCode.INVALID_TXN_STATE:
            client.is_fenced = True

    # -- coordinators ------------------------------------------------------------------------------------------------

    def _send_markers(self) -> None:
        prepared, self.desk.prepared = self.desk.prepared, []
        for name in prepared:
            known = self.desk.known(name)
            if not known.partitions:
                self._complete(known.producer_id, known.producer_epoch)
            for partition in sorted(known.partitions):
                self.due.append(
                    Marker(
                        known.producer_id,
                        known.producer_epoch,
                        known.state.commits,
                        self.coordinator_epoch,
                        known.client_version,
                        partition,
                    )
                )

    @precondition(lambda self: self.due)
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        marker = data.draw(st.sampled_from(self.due))
        self.due.remove(marker)
        assert self.logs[marker.partition].mark(marker) in (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH)
        self.late.append(marker)
        if not any(other[:2] == marker[:2] for other in self.due):
            self._complete(marker.producer_id, marker.epoch)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def deliver_late(self, data: st.DataObject) -> None:
        """A copy that lay in a network for long. Epochs of their own save the second generation from it; the first is
        saved only from copies of earlier coordinators."""
        marker = data.draw(st.sampled_from(self.late[-6:]))
        if marker.version >= 2 or marker.coordinator_epoch < self.coordinator_epoch:
            self.logs[marker.partition].mark(marker)

    def _complete(self, producer_id: int, epoch: int) -> None:
        outcome = self.desk.transactions.on_markers_written(ID, producer_id, epoch, self.desk.now)
        # Whoever waited gave up meanwhile.
        outcome.resumed.clear()
        self.desk.carry_out(outcome)

    @rule()
    def fail_over(self) -> None:
        self.coordinator_epoch += 1
        self.due.clear()
        self.desk.fail_over()
        self._send_markers()

    @rule(seconds=st.sampled_from([1, 61]))
    def pass_time(self, seconds: int) -> None:
        self.desk.pass_time(seconds)
        self._send_markers()

    # -- what readers see --------------------------------------------------------------------------------------------

    def _seen(self, label: str) -> int:
        return sum(value.partition(":")[0] == label for log in self.logs.values() for value in log.committed)

    @invariant()
    def nothing_is_seen_twice_or_torn_for_ever(self) -> None:
        committed = [value for log in self.logs.values() for value in log.committed]
        assert len(committed) == len(set(committed))
        for label, commit in self.promised.items():
            if not commit:
                assert self._seen(label) == 0, f"{label} was aborted"

    def teardown(self) -> None:
        """Calm: everything that was decided reaches everyone."""
        self.pass_time(61)
        for _ in range(100):
            if not self.due:
                break
            marker = self.due.pop()
            self.logs[marker.partition].mark(marker)
            if not any(other[:2] == marker[:2] for other in self.due):
                self._complete(marker.producer_id, marker.epoch)
        for partition, log in self.logs.items():
            assert not log.open, f"a transaction hangs on {partition}"
        for label, values in self.written.items():
            seen = self._seen(label)
            assert seen in (0, len(values)), f"{label} is torn: {seen} of {len(values)}"
            if label in self.promised:
                assert (seen == len(values)) is self.promised[label], label
        if ID in self.desk.transactions.known:
            assert self.desk.known().state not in (TxnState.ONGOING, TxnState.PREPARE_ABORT, TxnState.PREPARE_COMMIT)


TestWorld = World.TestCase
TestWorld.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
