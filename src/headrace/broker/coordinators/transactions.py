"""The transaction coordinators of this broker, one for each partition of `__transaction_state` that it leads."""

from typing import TYPE_CHECKING

from headrace.broker.coordinators.homes import Homes, replicas_of
from headrace.broker.coordinators.led import LedCoordinators
from headrace.broker.coordinators.transaction import TransactionCoordinator
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import NewTopic
from headrace.partition.partition import Partition
from headrace.txns.coordinator import Transactions
from headrace.txns.settings import TxnSettings

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

TRANSACTIONS_TOPIC = "__transaction_state"

TransactionCoordinators = LedCoordinators[TransactionCoordinator]


def transaction_coordinators(broker: "Broker") -> TransactionCoordinators:
    def make(partition: Partition) -> TransactionCoordinator:
        return TransactionCoordinator(broker, partition, Transactions(_settings(broker.view.config)))

    homes = Homes(broker.view, lambda: broker.partitions.is_fenced, TRANSACTIONS_TOPIC, broker.create_topic, _new_topic)
    return TransactionCoordinators(TRANSACTIONS_TOPIC, homes, lambda: broker.hosting, broker.tasks, make)


def _settings(config: BrokerConfig) -> TxnSettings:
    return TxnSettings(config.number("transaction.max.timeout.ms"), config.number("transactional.id.expiration.ms"))


def _new_topic(config: BrokerConfig) -> NewTopic:
    replicas = replicas_of("transaction.state.log.replication.factor", config)
    settings = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "flush.messages": "1",
        "min.insync.replicas": str(min(replicas, config.number("transaction.state.log.min.isr"))),
        "segment.bytes": str(config.number("transaction.state.log.segment.bytes")),
    }
    return NewTopic(TRANSACTIONS_TOPIC, config.number("transaction.state.log.num.partitions"), replicas, settings)
