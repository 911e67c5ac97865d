"""The partitions of a transaction: added before the first write, or verified for the partition's leader."""

from headrace.txns.questions import AddPartitions, Answer
from headrace.txns.state import Transaction, TxnState
from headrace.wire.codes import ErrorCode


def check_producer(known: Transaction | None, producer_id: int, producer_epoch: int) -> ErrorCode:
    if known is None or known.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.producer_epoch != producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    # The last transaction's markers are still on their way: nothing may begin before they are in.
    return ErrorCode.CONCURRENT_TRANSACTIONS if known.state.is_prepared else ErrorCode.NONE


def decide_add(known: Transaction, asked: AddPartitions, wall: int) -> Transaction:
    """The state with these partitions added; the same object when it has them already."""
    if known.state is TxnState.ONGOING:
        if asked.partitions <= known.partitions:
            return known
        return known._replace(partitions=known.partitions | asked.partitions, updated_at=wall)
    return known._replace(
        state=TxnState.ONGOING,
        partitions=asked.partitions,
        started_at=wall,
        updated_at=wall,
        client_version=asked.client_version,
    )


def verify(known: Transaction, asked: AddPartitions) -> Answer:
    added = known.partitions if known.state is TxnState.ONGOING else frozenset()
    return Answer(ErrorCode.NONE, missing=asked.partitions - added)
