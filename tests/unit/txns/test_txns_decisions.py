"""Each question in each state: what is answered, and what is stored."""

import pytest
from txn_desk import ID, ORDERS, Desk

from headrace.txns.batches import TxnBatches
from headrace.txns.invariants import assert_follows
from headrace.txns.outcome import Command, TxnRecord
from headrace.txns.questions import AddPartitions, Answer, BeginProducer, DescribeTransaction, ListTransactions
from headrace.txns.settings import TxnSettings
from headrace.txns.state import EPOCH_MAX, TxnState
from headrace.wire.codes import ErrorCode

NONE = ErrorCode.NONE
FENCED = ErrorCode.PRODUCER_FENCED
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
INVALID_STATE = ErrorCode.INVALID_TXN_STATE
NO_MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING


def code(answer: Answer | None) -> ErrorCode:
    assert answer is not None, "it waits"
    return answer.code


def test_the_first_producer_of_an_id() -> None:
    desk = Desk()
    assert desk.begin() == Answer(NONE, 101, 0)
    assert desk.known().state is TxnState.EMPTY


@pytest.mark.parametrize("timeout_ms", [0, -1, 15 * 60_000 + 1])
def test_a_timeout_outside_the_limits(timeout_ms: int) -> None:
    assert code(Desk().begin(timeout_ms=timeout_ms)) is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_the_next_producer_gets_the_next_epoch() -> None:
    desk = Desk()
    desk.begin()
    assert desk.begin() == Answer(NONE, 101, 1)


def test_whoever_begins_aborts_what_is_open_and_waits_for_it() -> None:
    desk = Desk()
    first = desk.begun()
    desk.add(first)
    assert desk.begin() is None
    assert desk.known().state is TxnState.PREPARE_ABORT
    assert desk.known().producer_epoch == 1, "the markers fence the zombie"
    desk.write_markers()
    assert desk.answers[3] == Answer(NONE, 101, 2)
    assert code(desk.add(first)) is FENCED
    assert code(desk.end(first)) is FENCED


def test_who_waits_too_long_is_told_to_come_back() -> None:
    desk = Desk()
    desk.add(desk.begun())
    assert desk.begin() is None
    desk.pass_time(2)
    assert code(desk.answers[3]) is CONCURRENT
    desk.write_markers()
    assert desk.known().state is TxnState.COMPLETE_ABORT


def test_a_new_epoch_by_the_one_that_holds_the_last() -> None:
    desk = Desk()
    producer = desk.begun()
    assert desk.begin(expected=producer) == Answer(NONE, 101, 1)
    assert desk.begin(expected=producer) == Answer(NONE, 101, 1), "the answer was lost, and it asks again"
    assert code(desk.begin(expected=(101, 7))) is FENCED
    assert code(desk.begin(expected=(999, 1))) is FENCED


def test_an_exhausted_epoch_brings_a_new_id() -> None:
    desk = Desk()
    desk.begin()
    desk.put(desk.known()._replace(producer_epoch=EPOCH_MAX))
    assert desk.begin() == Answer(NONE, 102, 0)
    assert desk.known().previous_producer_id == 101


def test_partitions_are_added_once() -> None:
    desk = Desk()
    producer = desk.begun()
    assert desk.add(producer) == Answer(NONE)
    stored = len(desk.log)
    assert desk.add(producer) == Answer(NONE)
    assert len(desk.log) == stored
    assert desk.known().partitions == ORDERS
    assert desk.known().state is TxnState.ONGOING


def test_partitions_of_the_wrong_producer() -> None:
    desk = Desk()
    assert code(desk.add((1, 0))) is NO_MAPPING
    producer_id, epoch = desk.begun()
    assert code(desk.add((producer_id + 1, epoch))) is NO_MAPPING
    assert code(desk.add((producer_id, epoch + 1))) is FENCED


def test_adding_waits_until_the_last_transaction_is_complete() -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.end(producer)
    assert desk.add(producer, frozenset({("other", 0)})) is None
    desk.write_markers()
    assert desk.answers[4] == Answer(NONE)
    assert desk.known().partitions == {("other", 0)}
    assert desk.known().state is TxnState.ONGOING


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_waits_behind_the_partitions_it_ends(commit: bool) -> None:
    """librdkafka sends both at once when a program aborts right after its first message."""
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.end(producer, commit=True)
    assert desk.add(producer) is None
    assert desk.end(producer, commit=commit) is None
    desk.write_markers()
    assert code(desk.answers[4]) is NONE
    assert code(desk.answers[5]) is NONE
    assert desk.known().state is (TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT)


def test_an_end_that_waits_behind_an_add_for_too_long_is_told_to_come_back() -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.end(producer, commit=True)
    desk.add(producer)
    desk.end(producer, commit=False)
    desk.pass_time(2)
    assert [code(desk.answers[ticket]) for ticket in (4, 5)] == [CONCURRENT, CONCURRENT]


def test_who_may_not_wait_is_told_at_once() -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.end(producer)
    assert code(desk.ask(AddPartitions(ID, *producer, ORDERS, may_wait=False))) is CONCURRENT


def test_verifying_adds_nothing() -> None:
    desk = Desk()
    producer = desk.begun()
    assert desk.add(producer, verify=True) == Answer(NONE, missing=ORDERS)
    desk.add(producer, frozenset({("orders", 0)}))
    assert desk.add(producer, verify=True) == Answer(NONE, missing=frozenset({("orders", 1)}))


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_a_first_generation_transaction(commit: bool) -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    assert desk.end(producer, commit=commit) == Answer(NONE, *producer)
    assert desk.end(producer, commit=commit) == Answer(NONE, *producer), "repeated while the markers are on their way"
    assert code(desk.end(producer, commit=not commit)) is INVALID_STATE
    desk.write_markers()
    assert desk.known().state is (TxnState.COMPLETE_COMMIT if commit else TxnState.COMPLETE_ABORT)
    assert desk.known().partitions == frozenset()
    assert desk.end(producer, commit=commit) == Answer(NONE, *producer)
    assert code(desk.end(producer, commit=not commit)) is INVALID_STATE


def test_the_first_generation_cannot_end_what_it_has_not_begun() -> None:
    desk = Desk()
    assert code(desk.end((1, 0))) is NO_MAPPING
    producer = desk.begun()
    assert code(desk.end(producer, commit=True)) is INVALID_STATE
    assert code(desk.end(producer, commit=False)) is INVALID_STATE


@pytest.mark.parametrize("commit", [True, False])
def test_each_transaction_of_the_second_generation_has_its_own_epoch(commit: bool) -> None:
    desk = Desk()
    producer_id, epoch = desk.begun()
    desk.add((producer_id, epoch), client=2)
    bumped = Answer(NONE, producer_id, epoch + 1)
    assert desk.end((producer_id, epoch), commit=commit, client=2) == bumped
    assert desk.known().producer_epoch == epoch + 1, "the markers carry it"
    assert desk.end((producer_id, epoch), commit=commit, client=2) == bumped, "the answer was lost"
    assert code(desk.end((producer_id, epoch), commit=not commit, client=2)) is INVALID_STATE
    desk.write_markers()
    assert desk.end((producer_id, epoch), commit=commit, client=2) == bumped
    assert code(desk.add((producer_id, epoch), client=2)) is FENCED
    assert code(desk.add((producer_id, epoch + 1), client=2)) is NONE
    assert code(desk.end((producer_id, epoch), commit=commit, client=2)) is FENCED, "another one is open by now"


def test_the_second_generation_may_abort_nothing_and_commit_something_only() -> None:
    desk = Desk()
    producer_id, epoch = desk.begun()
    assert code(desk.end((producer_id, epoch), commit=True, client=2)) is INVALID_STATE
    assert desk.end((producer_id, epoch), commit=False, client=2) == Answer(NONE, producer_id, epoch + 1)
    assert desk.prepared == [ID]
    desk.write_markers()
    assert desk.known().state is TxnState.COMPLETE_ABORT


def test_the_last_epoch_of_an_id_ends_with_a_new_one() -> None:
    desk = Desk()
    desk.begin()
    desk.put(desk.known()._replace(producer_epoch=EPOCH_MAX))
    desk.add((101, EPOCH_MAX), client=2)
    assert desk.end((101, EPOCH_MAX), client=2) == Answer(NONE, 102, 0)
    assert (desk.known().producer_id, desk.known().producer_epoch) == (101, EPOCH_MAX + 1), "for the markers"
    assert desk.end((101, EPOCH_MAX), client=2) == Answer(NONE, 102, 0)
    desk.write_markers()
    assert (desk.known().producer_id, desk.known().producer_epoch) == (102, 0)
    assert desk.end((101, EPOCH_MAX), client=2) == Answer(NONE, 102, 0)
    assert code(desk.add((102, 0), client=2)) is NONE


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced() -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.pass_time(61)
    assert desk.known().state is TxnState.PREPARE_ABORT
    assert code(desk.end(producer)) is FENCED
    assert code(desk.end(producer, commit=False, client=2)) is FENCED
    desk.write_markers()
    assert desk.known().state is TxnState.COMPLETE_ABORT


def test_a_timeout_is_counted_from_the_begin_whoever_coordinates() -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.pass_time(40)
    desk.fail_over()
    desk.pass_time(10)
    assert desk.known().state is TxnState.ONGOING
    desk.pass_time(15)
    assert desk.known().state is TxnState.PREPARE_ABORT


def test_whoever_takes_over_writes_the_markers_again() -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.end(producer)
    desk.fail_over()
    assert desk.prepared == [ID]
    desk.write_markers()
    assert desk.known().state is TxnState.COMPLETE_COMMIT


def test_markers_of_an_earlier_end_complete_nothing() -> None:
    desk = Desk()
    producer = desk.begun()
    desk.add(producer)
    desk.end(producer, client=2)
    desk.carry_out(desk.transactions.on_markers_written(ID, producer[0], producer[1], desk.now))
    assert desk.known().state is TxnState.PREPARE_COMMIT


def test_idle_ids_are_forgotten_and_open_ones_are_not() -> None:
    desk = Desk(TxnSettings(transactional_id_expiration_ms=1000, transaction_max_timeout_ms=10_000_000))
    producer = desk.begun()
    desk.add(producer)
    desk.pass_time(5)
    desk.carry_out(desk.transactions.expire(desk.now))
    assert ID in desk.transactions.known
    desk.end(producer)
    desk.write_markers()
    desk.pass_time(5)
    desk.carry_out(desk.transactions.expire(desk.now))
    assert ID not in desk.transactions.known
    assert code(desk.add(producer)) is NO_MAPPING


def test_describe_and_list() -> None:
    desk = Desk()
    assert code(desk.ask(DescribeTransaction(ID))) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    producer = desk.begun()
    desk.add(producer)
    described = desk.ask(DescribeTransaction(ID))
    assert described is not None
    assert described.listed == ((ID, desk.known()),)
    for question, found in (
        (ListTransactions(), True),
        (ListTransactions(states=frozenset({TxnState.EMPTY})), False),
        (ListTransactions(states=frozenset({TxnState.ONGOING}), producer_ids=frozenset({101})), True),
        (ListTransactions(producer_ids=frozenset({7})), False),
        (ListTransactions(duration_ms=1000), False),
    ):
        listed = desk.ask(question)
        assert listed is not None
        assert bool(listed.listed) is found, question
    desk.pass_time(2)
    late = desk.ask(ListTransactions(duration_ms=1000))
    assert late is not None
    assert len(late.listed) == 1


def test_no_decision_is_made_before_the_records_of_the_last_one_are_applied() -> None:
    desk = Desk()
    begin = Command(1, BeginProducer(ID, 60_000, fresh_producer_id=101))
    assert desk.transactions.handle(begin, desk.now).records
    with pytest.raises(AssertionError, match="1 records of the last one"):
        desk.transactions.handle(begin, desk.now)


def test_a_state_that_leaves_the_edges_is_noticed() -> None:
    desk = Desk()
    desk.begin()
    open_ = desk.known()._replace(state=TxnState.ONGOING)
    for state in (TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT):
        with pytest.raises(AssertionError):
            assert_follows(open_, open_._replace(state=state))
    with pytest.raises(AssertionError):
        assert_follows(open_, None)


def test_of_a_compacted_log_the_records_between_two_may_be_missing() -> None:
    """Seed 3507 of transactions: the coordinator could not load its log."""
    desk = Desk()
    desk.begin()
    committing = desk.known()._replace(state=TxnState.PREPARE_COMMIT)
    desk.transactions.apply(TxnRecord(ID, committing))
    later = committing._replace(state=TxnState.ONGOING, producer_epoch=committing.producer_epoch + 5)
    desk.transactions.apply(TxnRecord(ID, later))
    assert desk.known() == later


def test_behind_a_gap_in_the_log_all_that_is_left_is_served() -> None:
    desk = Desk()
    desk.begin()
    TxnBatches(desk.transactions).on_gap()
    desk.transactions.apply(TxnRecord(ID, desk.known()._replace(state=TxnState.COMPLETE_COMMIT)))
    assert desk.known().state is TxnState.COMPLETE_COMMIT


def test_an_epoch_that_goes_back_is_noticed() -> None:
    desk = Desk()
    desk.begin()
    first = desk.known()
    desk.begin()
    with pytest.raises(AssertionError):
        desk.transactions.apply(TxnRecord(ID, first))
