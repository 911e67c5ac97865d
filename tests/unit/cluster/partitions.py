"""Clusters for the tests of decisions: brokers 1, 2, … alive, and topic `t` with the partitions given."""

from collections.abc import Mapping

from ledger import Ledger

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PartitionState
from headrace.cluster.records import TopicRecord, encode, partition_key, topic_key
from headrace.cluster.store import Commit

ID = bytes(range(16))
DEFAULTS = BrokerConfig({"min.insync.replicas": "2"})


def cluster(
    *states: PartitionState, brokers: int = 4, config: Mapping[str, str] | None = None, name: str = "t"
) -> Ledger:
    ledger = Ledger(brokers)
    for first in range(0, len(states), 99):
        chunk = enumerate(states[first : first + 99], start=first)
        ledger.run([Commit({partition_key(ID, index): encode(state) for index, state in chunk}, {})])
    ledger.run([Commit({topic_key(name): encode(TopicRecord(ID, len(states), config or {}))}, {})])
    return ledger


def epochs(ledger: Ledger, *brokers: int) -> dict[int, int]:
    """As leases say it: of these brokers, or of all."""
    return {each: ledger.image.brokers[each].epoch for each in brokers or ledger.image.brokers}


def states(ledger: Ledger) -> list[PartitionState]:
    (only,) = ledger.image.topics.values()
    return list(only.partitions)


def state(ledger: Ledger) -> PartitionState:
    (only,) = states(ledger)
    return only
