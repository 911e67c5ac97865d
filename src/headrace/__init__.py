"""Headrace: a durable, partitioned, replicated log that speaks the Kafka protocol.

    import headrace

    with headrace.connect("127.0.0.1:9092") as client:
        client.produce("orders", {"id": 1})

The names below are those of `headrace.api`, loaded when one is used: a broker imports this package too, and needs no client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace import aio
    from headrace.api import (
        ApiError,
        Client,
        Closed,
        Consumer,
        Delivered,
        Delivery,
        DeliveryFailed,
        Lag,
        Message,
        Partition,
        Producer,
        Topic,
        Transaction,
        TransactionAborted,
        TransactionalProducer,
        TransactionMisused,
        UnknownOption,
        Unserialisable,
        Webhook,
        connect,
        salted,
        unsalted,
    )

__version__ = "0.1.0"

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
    "__version__",
    "aio",
    "connect",
    "salted",
    "unsalted",
]
_API = frozenset(__all__) - {"__version__", "aio"}


def __getattr__(name: str) -> Any:
    if name == "aio":
        return import_module("headrace.aio")
    if name not in _API:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module("headrace.api"), name)
    except ModuleNotFoundError as missing:
        from headrace.base.extras import explained

        raise explained(missing) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
