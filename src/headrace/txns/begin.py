"""InitProducerId: a producer takes over a transactional id."""

from headrace.txns.questions import BeginProducer
from headrace.txns.state import EPOCH_MAX, NO_EPOCH, NO_PRODUCER, Transaction, TxnState
from headrace.wire.codes import ErrorCode


def decide_begin(known: Transaction | None, asked: BeginProducer, wall: int) -> Transaction | ErrorCode:
    """The state to store, which may be the one that is stored already; or an error code.

    A PREPARE_ABORT state is no answer yet: the open transaction has to be aborted first.
    """
    if known is None:
        if asked.fresh_producer_id == NO_PRODUCER:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        return Transaction(asked.fresh_producer_id, 0, asked.timeout_ms, TxnState.EMPTY, wall)
    is_expected = asked.expected_id != NO_PRODUCER
    if is_expected and not _may_ask(known, asked):
        return ErrorCode.PRODUCER_FENCED
    if known.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if is_expected and not _is_current(known, asked):
        # The first try went through, and only the answer was lost.
        return known if known.state is not TxnState.ONGOING else ErrorCode.PRODUCER_FENCED
    if known.state is TxnState.ONGOING:
        return known.fenced(wall)
    return _next_epoch(known, asked, wall)


def _may_ask(known: Transaction, asked: BeginProducer) -> bool:
    if _is_current(known, asked):
        return True
    if asked.expected_epoch != known.last_epoch or known.last_epoch == NO_EPOCH:
        return False
    return asked.expected_id == known.producer_id or (
        asked.expected_id == known.previous_producer_id and asked.expected_epoch >= EPOCH_MAX
    )


def _is_current(known: Transaction, asked: BeginProducer) -> bool:
    return (asked.expected_id, asked.expected_epoch) == (known.producer_id, known.producer_epoch)


def _next_epoch(known: Transaction, asked: BeginProducer, wall: int) -> Transaction | ErrorCode:
    fresh = known._replace(
        timeout_ms=asked.timeout_ms,
        state=TxnState.EMPTY,
        updated_at=wall,
        last_epoch=known.producer_epoch if asked.expected_id != NO_PRODUCER else NO_EPOCH,
    )
    if not known.is_exhausted:
        return fresh._replace(producer_epoch=known.producer_epoch + 1)
    if asked.fresh_producer_id == NO_PRODUCER:
        # Nobody could know that a producer id would be needed: the client asks again.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return fresh._replace(producer_id=asked.fresh_producer_id, producer_epoch=0, previous_producer_id=known.producer_id)
