"""The Python API: producers, consumers, transactions and topics over confluent-kafka, typed, with safe defaults.

Nothing of the protocol is written again here. What this room adds: values that become bytes, deliveries as results,
commits that follow the work, and errors that say the fix. Start with `connect`.
"""

from headrace.api.client import Client, connect
from headrace.api.consumer import Consumer
from headrace.api.delivery import Delivered, Delivery
from headrace.api.errors import (
    ApiError,
    Closed,
    DeliveryFailed,
    TransactionAborted,
    TransactionMisused,
    UnknownOption,
    Unserialisable,
)
from headrace.api.message import Message
from headrace.api.producer import Producer
from headrace.api.salting import salted, unsalted
from headrace.api.topics import Lag, Partition, Topic
from headrace.api.transaction import Transaction, TransactionalProducer
from headrace.api.webhooks import Webhook

__all__ = [
    "ApiError",
    "Client",
    "Closed",
    "Consumer",
    "Delivered",
    "Delivery",
    "DeliveryFailed",
    "Lag",
    "Message",
    "Partition",
    "Producer",
    "Topic",
    "Transaction",
    "TransactionAborted",
    "TransactionMisused",
    "TransactionalProducer",
    "UnknownOption",
    "Unserialisable",
    "Webhook",
    "connect",
    "salted",
    "unsalted",
]
