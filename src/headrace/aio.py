"""`headrace` for asyncio, with the same names; results, messages and errors are the same classes:

import headrace

async with headrace.aio.connect("127.0.0.1:9092") as client:
    await client.produce("orders", {"id": 1})
"""

from headrace.base.extras import explained

try:
    from headrace.api import (
        ApiError,
        Closed,
        Delivered,
        DeliveryFailed,
        Lag,
        Message,
        Partition,
        Topic,
        TransactionAborted,
        TransactionMisused,
        UnknownOption,
        Unserialisable,
        Webhook,
        salted,
        unsalted,
    )
    from headrace.api.aio import (
        Client,
        Consumer,
        Delivery,
        Producer,
        Transaction,
        TransactionalProducer,
        connect,
    )
except ModuleNotFoundError as missing:
    raise explained(missing) from None

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
