"""Open and aborted transactions of a log, checked against a plain re-reading of its history, through every way to stop."""

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from logs import NOW, SMALL, Rig, batch, later, verdict

from headrace.log.aborted import AbortedIndex
from headrace.log.state import LogState
from headrace.log.transactions import LogTransactions
from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker, Record, build_batch, build_marker


def data(base_offset: int, producer_id: int, *, records: int = 1, epoch: int = 0, sequence: int = 0) -> bytes:
    return build_batch(
        [Record(timestamp=NOW.wall, value=b"v" * 40)] * records,
        base_offset=base_offset,
        leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )


def marker(base_offset: int, producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> bytes:
    return build_marker(
        Marker(commit, coordinator_epoch),
        producer_id=producer_id,
        producer_epoch=epoch,
        timestamp=NOW.wall,
        base_offset=base_offset,
        leader_epoch=0,
    )


def test_nothing_is_unstable_without_transactions() -> None:
    rig = Rig()
    rig.append(batch(0, 3))
    assert rig.log.state.transactions.stable_end(3, rig.log.start_offset) == 3
    assert rig.log.state.transactions.stable_end(1, rig.log.start_offset) == 1


def test_an_open_transaction_holds_the_stable_end_until_its_marker_is_committed() -> None:
    rig = Rig()
    rig.append(batch(0, 2))
    rig.append(data(2, producer_id=7, records=3))
    rig.append(batch(5, 1))
    assert rig.log.state.transactions.stable_end(6, rig.log.start_offset) == 2
    rig.append(marker(6, producer_id=7, commit=True))
    assert rig.log.state.transactions.stable_end(6, rig.log.start_offset) == 2, (
        "the marker may still be lost in a fail-over"
    )
    assert rig.log.state.transactions.stable_end(7, rig.log.start_offset) == 7
    assert rig.log.state.transactions.aborted.between(0, 7) == []


def test_an_aborted_transaction_is_listed_wherever_a_read_touches_it() -> None:
    rig = Rig()
    rig.append(batch(0, 2))
    rig.append(data(2, producer_id=7, records=3))
    rig.append(marker(5, producer_id=7, commit=False))
    rig.append(batch(6, 2))
    assert rig.log.state.transactions.aborted.between(0, 2) == []
    assert rig.log.state.transactions.aborted.between(0, 3) == [(7, 2)]
    assert rig.log.state.transactions.aborted.between(4, 8) == [(7, 2)]
    assert rig.log.state.transactions.aborted.between(6, 8) == []


def test_aborted_transactions_come_by_first_offset() -> None:
    rig = Rig()
    rig.append(data(0, producer_id=1))
    rig.append(data(1, producer_id=2))
    rig.append(marker(2, producer_id=2, commit=False))
    rig.append(marker(3, producer_id=1, commit=False))
    assert rig.log.state.transactions.aborted.between(0, 4) == [(1, 0), (2, 1)]


def test_a_marker_without_records_before_it_decides_nothing() -> None:
    rig = Rig()
    rig.append(marker(0, producer_id=7, commit=False, epoch=3, coordinator_epoch=5))
    assert rig.log.state.transactions.stable_end(1, rig.log.start_offset) == 1
    assert rig.log.state.transactions.aborted.between(0, 1) == []
    known = rig.log.state.producers.get(7)
    assert known is not None
    assert (known.epoch, known.coordinator_epoch) == (3, 5)


def test_a_marker_of_a_newer_epoch_fences_and_begins_a_new_sequence() -> None:
    rig = Rig()
    rig.append(data(0, producer_id=7, sequence=0))
    rig.append(marker(1, producer_id=7, commit=True, epoch=1))
    assert verdict(rig.log, parse_header(data(2, 7, epoch=0, sequence=1))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert verdict(rig.log, parse_header(data(2, 7, epoch=1, sequence=0))) is None
    assert rig.log.state.producers.check_epoch(7, 0) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert rig.log.state.producers.check_epoch(7, 1) is None


def test_a_plain_batch_inside_the_producers_own_transaction_is_refused() -> None:
    rig = Rig()
    rig.append(data(0, producer_id=7, sequence=0))
    plain = parse_header(batch(1, producer=(7, 0, 1)))
    assert verdict(rig.log, plain) is ErrorCode.INVALID_TXN_STATE


def test_a_producer_in_a_transaction_does_not_expire() -> None:
    rig = Rig()
    rig.append(data(0, producer_id=7))
    rig.append(batch(1, producer=(8, 0, 0)))
    late = later(rig.config.producer_expiration_ms + 1)
    assert rig.log.expire_producers(late) == 1
    assert rig.log.state.producers.get(7) is not None


def test_a_batch_that_compaction_emptied_opens_nothing() -> None:
    emptied = build_batch(
        [], producer_id=7, producer_epoch=0, base_sequence=4, transactional=True, last_offset_delta=0, leader_epoch=0
    )
    state = LogState()
    state.apply(parse_header(emptied), NOW.wall)
    assert state.transactions.open == {}


def test_deleted_records_take_their_aborted_transactions_with_them() -> None:
    rig = Rig()
    rig.append(data(0, producer_id=7))
    rig.append(marker(1, producer_id=7, commit=False))
    rig.append(data(2, producer_id=8))
    rig.log.advance_start(2)
    assert rig.log.state.transactions.aborted.between(0, 3) == []
    rig.append(batch(3))
    rig.log.advance_start(4)
    assert rig.log.state.transactions.stable_end(4, rig.log.start_offset) == 4, (
        "an open transaction below the start holds nothing"
    )


def test_the_index_finds_what_a_long_one_hides() -> None:
    index = AbortedIndex()
    index.add(1, 5, 10, 3)
    index.add(2, 11, 20, 3)
    index.add(3, 3, 30, 31)
    index.add(4, 40, 50, 51)
    assert index.between(0, 8) == [(3, 3), (1, 5)]
    assert index.between(25, 26) == [(3, 3)]
    assert AbortedIndex.decode(index.encode()).between(0, 100) == index.between(0, 100)


def test_transactions_survive_their_encoding() -> None:
    transactions = LogTransactions()
    for content in (data(0, 1), data(1, 2), marker(2, 1, commit=False), data(3, 3)):
        header = parse_header(content)
        transactions.apply(header, Marker(False, 0) if header.is_control else None)
    again = LogTransactions.decode(transactions.encode())
    assert (again.open, again.ended) == (transactions.open, transactions.ended)
    assert again.aborted.between(0, 9) == [(1, 0)]


class _History:
    """What the log holds, as a list, and the questions answered by reading all of it."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int, str, int]] = []
        """(offset, end, kind, producer id)."""

    @property
    def end(self) -> int:
        return self.batches[-1][1] if self.batches else 0

    def transactions(self) -> list[tuple[int, int, int | None, str]]:
        """(producer, first, marker offset or None, how it ended)"""
        found: list[tuple[int, int, int | None, str]] = []
        running: dict[int, int] = {}
        for offset, _, kind, producer_id in self.batches:
            if kind == "data":
                running.setdefault(producer_id, offset)
            elif kind in ("commit", "abort") and producer_id in running:
                found.append((producer_id, running.pop(producer_id), offset, kind))
        return found + [(producer_id, first, None, "open") for producer_id, first in running.items()]

    def stable_end(self, high_watermark: int) -> int:
        unstable = [first for _, first, end, _ in self.transactions() if end is None or end >= high_watermark]
        return min([high_watermark, *unstable])

    def aborted(self, offset: int, end_offset: int) -> list[tuple[int, int]]:
        reaching = [
            (producer_id, first)
            for producer_id, first, end, kind in self.transactions()
            if kind == "abort" and end is not None and end >= offset and first < end_offset
        ]
        return sorted(reaching, key=lambda pair: pair[1])


class LogUnderTransactions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig(SMALL)
        self.history = _History()
        self.high_watermark = 0

    @rule(producer_id=st.integers(1, 4), records=st.integers(1, 4))
    def write(self, producer_id: int, records: int) -> None:
        self._append(data(self.history.end, producer_id, records=records), "data", producer_id, records)

    @rule(records=st.integers(1, 3))
    def write_plain(self, records: int) -> None:
        self._append(batch(self.history.end, records), "plain", -1, records)

    @rule(producer_id=st.integers(1, 4), commit=st.booleans())
    def end(self, producer_id: int, commit: bool) -> None:
        content = marker(self.history.end, producer_id, commit=commit)
        self._append(content, "commit" if commit else "abort", producer_id, 1)

    def _append(self, content: bytes, kind: str, producer_id: int, count: int) -> None:
        start = self.history.end
        self.rig.append(content)
        self.history.batches.append((start, start + count, kind, producer_id))

    @precondition(lambda self: self.history.batches)
    @rule(data=st.data())
    def commit_up_to(self, data: st.DataObject) -> None:
        ends = [end for _, end, _, _ in self.history.batches if end >= self.high_watermark]
        if ends:
            self.high_watermark = data.draw(st.sampled_from(ends))
            self.rig.log.state.transactions.on_high_watermark(self.high_watermark)

    @precondition(lambda self: self.high_watermark < self.history.end)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        above = [offset for offset, _, _, _ in self.history.batches if offset >= self.high_watermark]
        cut = data.draw(st.sampled_from(above))
        self.rig.log.truncate_to(cut, NOW)
        self.history.batches = [each for each in self.history.batches if each[0] < cut]

    @rule()
    def sync(self) -> None:
        self.rig.sync()
        self.rig.log.snapshots.prune(self.rig.log.sync.synced_end, self.rig.log.start_offset)

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        self.rig.sync()
        point = self.rig.log.sync.synced_end
        if clean:
            self.rig.close_clean()
        else:
            with contextlib.suppress(Exception):
                self.rig.log.close()
        self.rig.open(recovery_point=point, clean=clean)
        self.rig.log.state.transactions.on_high_watermark(self.high_watermark)

    @invariant()
    def answers_like_its_history(self) -> None:
        end = self.history.end
        assert self.rig.log.end_offset == end
        for high_watermark in {self.high_watermark, end}:
            assert self.rig.log.state.transactions.stable_end(
                high_watermark, self.rig.log.start_offset
            ) == self.history.stable_end(high_watermark)
        for offset in (0, end // 2, max(0, end - 3)):
            for end_offset in (offset, (offset + end) // 2, end):
                expected = self.history.aborted(offset, end_offset) if offset < end_offset else []
                if offset < end_offset:
                    assert self.rig.log.state.transactions.aborted.between(offset, end_offset) == expected


TestLogUnderTransactions = LogUnderTransactions.TestCase
TestLogUnderTransactions.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
