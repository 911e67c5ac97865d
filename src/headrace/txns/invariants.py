"""The rules that every record of a transactional id keeps, given the record before it.

`assert_follows` is asserted before the append. When a record is applied, `assert_not_older` is: of a compacted log that is
read back the records between two of one id may be missing.

They hold in a log that is whole. Behind damage that an unclean election gave up records are missing, and whatever is left
has to be served.
"""

from headrace.txns.state import Transaction, TxnState

_BEGIN, _OPEN, _COMMITTING, _ABORTING = (
    TxnState.EMPTY,
    TxnState.ONGOING,
    TxnState.PREPARE_COMMIT,
    TxnState.PREPARE_ABORT,
)
_NEXT: dict[TxnState, tuple[TxnState, ...]] = {
    # A producer may abort without having written anything.
    TxnState.EMPTY: (_BEGIN, _OPEN, _ABORTING),
    TxnState.ONGOING: (_OPEN, _COMMITTING, _ABORTING),
    TxnState.PREPARE_COMMIT: (TxnState.COMPLETE_COMMIT,),
    TxnState.PREPARE_ABORT: (TxnState.COMPLETE_ABORT,),
    TxnState.COMPLETE_COMMIT: (_BEGIN, _OPEN, _ABORTING),
    TxnState.COMPLETE_ABORT: (_BEGIN, _OPEN, _ABORTING),
    TxnState.DEAD: (),
}


def assert_follows(known: Transaction | None, value: Transaction | None) -> None:
    """A state moves along the edges of `state`, is forgotten only when nothing is open, and the epoch of a producer id
    never falls."""
    if known is None:
        return
    if value is None:
        assert known.state not in (_OPEN, _COMMITTING, _ABORTING), known
        return
    assert value.state in _NEXT[known.state], (known, value)
    assert_not_older(known, value)


def assert_not_older(known: Transaction | None, value: Transaction | None) -> None:
    if known is not None and value is not None and known.producer_id == value.producer_id:
        assert value.producer_epoch >= known.producer_epoch, (known.identity, value.identity)
