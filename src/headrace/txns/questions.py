"""The questions to a transaction coordinator, of clients and other brokers, and its one kind of answer.

Versions of APIs are the shell's business: it turns requests into these, and an answer into the layout and code of the
request's version.
"""

from typing import NamedTuple

from headrace.base.ids import TopicPartition
from headrace.txns.state import NO_EPOCH, NO_PRODUCER, Transaction, TxnState
from headrace.wire.codes import ErrorCode


class BeginProducer(NamedTuple):
    """InitProducerId: the last holder of the transactional id is fenced, and its open transaction aborted."""

    transactional_id: str
    timeout_ms: int
    expected_id: int = NO_PRODUCER
    expected_epoch: int = NO_EPOCH
    fresh_producer_id: int = NO_PRODUCER


class AddPartitions(NamedTuple):
    """AddPartitionsToTxn, before the first write to a partition. `verify_only` asks whether it was done, and adds
    nothing."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    verify_only: bool = False
    client_version: int = 1
    may_wait: bool = True
    """Whether to wait for the last transaction's markers; not when other requests of the connection wait behind it."""


class EndTransaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    client_version: int = 1
    fresh_producer_id: int = NO_PRODUCER


class DescribeTransaction(NamedTuple):
    transactional_id: str


class ListTransactions(NamedTuple):
    states: frozenset[TxnState] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    duration_ms: int = -1


Question = BeginProducer | AddPartitions | EndTransaction | DescribeTransaction | ListTransactions


class Listed(NamedTuple):
    transactional_id: str
    transaction: Transaction


class Answer(NamedTuple):
    code: ErrorCode
    producer_id: int = NO_PRODUCER
    producer_epoch: int = NO_EPOCH
    missing: frozenset[TopicPartition] = frozenset()
    """Partitions that a verification did not find."""
    listed: tuple[Listed, ...] = ()
