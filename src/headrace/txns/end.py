"""EndTxn: commit or abort.

A producer of the second generation (KIP-890) goes on with a new epoch after every end, so each transaction has an epoch
of its own. It may repeat the request with the old one when the answer was lost.
"""

from typing import NamedTuple

from headrace.txns.questions import EndTransaction
from headrace.txns.state import NO_EPOCH, NO_PRODUCER, NO_TIME, Transaction, TxnState
from headrace.wire.codes import ErrorCode

BUMPS_SINCE = 2


class AlreadyDecided(NamedTuple):
    """The requested outcome was decided by an earlier try."""


def decide_end(known: Transaction | None, asked: EndTransaction, wall: int) -> Transaction | AlreadyDecided | ErrorCode:
    """The PREPARE state to store, `AlreadyDecided`, or an error code."""
    if known is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    bumps = asked.client_version >= BUMPS_SINCE
    is_repeated = bumps and _is_repeated(known, asked)
    if asked.producer_id != known.producer_id and not is_repeated:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if asked.producer_epoch != known.producer_epoch and not is_repeated:
        return ErrorCode.PRODUCER_FENCED
    if is_repeated or (not bumps and known.state is not TxnState.ONGOING):
        return _as_before(known, asked)
    if known.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if known.state is not TxnState.ONGOING and asked.commit:
        return ErrorCode.INVALID_TXN_STATE
    if bumps and known.is_exhausted and asked.fresh_producer_id == NO_PRODUCER:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return _prepared(known, asked, bumps, wall)


def _is_repeated(known: Transaction, asked: EndTransaction) -> bool:
    if asked.producer_epoch != known.last_epoch or known.last_epoch == NO_EPOCH:
        return False
    if not (known.state.is_prepared or known.state.is_complete):
        return False
    return asked.producer_id in (known.producer_id, known.previous_producer_id)


def _as_before(known: Transaction, asked: EndTransaction) -> AlreadyDecided | ErrorCode:
    has_ended = known.state.is_prepared or known.state.is_complete
    if has_ended and known.state.commits is asked.commit:
        return AlreadyDecided()
    return ErrorCode.INVALID_TXN_STATE


def _prepared(known: Transaction, asked: EndTransaction, bumps: bool, wall: int) -> Transaction:
    ended = known._replace(
        state=TxnState.PREPARE_COMMIT if asked.commit else TxnState.PREPARE_ABORT,
        updated_at=wall,
        started_at=known.started_at if known.started_at != NO_TIME else wall,
        client_version=asked.client_version,
    )
    if not bumps:
        return ended._replace(last_epoch=NO_EPOCH)
    return ended._replace(
        producer_epoch=known.producer_epoch + 1,
        last_epoch=known.producer_epoch,
        next_producer_id=asked.fresh_producer_id if known.is_exhausted else known.next_producer_id,
    )
