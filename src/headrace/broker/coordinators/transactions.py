"""The transaction coordinators of this broker, one for each partition of `__transaction_state` that it leads."""

from headrace.broker.coordinators.led import LedCoordinators, replicas_of
from headrace.broker.coordinators.transaction import TransactionCoordinator
from headrace.cluster.changes import NewTopic
from headrace.partition.partition import Partition
from headrace.txns.coordinator import Transactions
from headrace.txns.settings import TxnSettings

TRANSACTIONS_TOPIC = "__transaction_state"


class TransactionCoordinators(LedCoordinators[TransactionCoordinator]):
    topic = TRANSACTIONS_TOPIC

    def _make(self, partition: Partition) -> TransactionCoordinator:
        config = self._broker.view.config
        settings = TxnSettings(
            config.number("transaction.max.timeout.ms"), config.number("transactional.id.expiration.ms")
        )
        return TransactionCoordinator(self._broker, partition, Transactions(settings))

    def _new_topic(self) -> NewTopic:
        config = self._broker.view.config
        replicas = replicas_of("transaction.state.log.replication.factor", config)
        settings = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "flush.messages": "1",
            "min.insync.replicas": str(min(replicas, config.number("transaction.state.log.min.isr"))),
            "segment.bytes": str(config.number("transaction.state.log.segment.bytes")),
        }
        return NewTopic(self.topic, config.number("transaction.state.log.num.partitions"), replicas, settings)
