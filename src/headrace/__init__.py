"""Headrace: a durable, partitioned, replicated log that speaks the Kafka protocol.

    import headrace

    with headrace.connect("127.0.0.1:9092") as client:
        client.produce("orders", {"id": 1})

The names below are those of `headrace.api`, loaded when one is used: a broker imports this package too, and needs no client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace import aio as aio
    from headrace.api import ApiError as ApiError
    from headrace.api import Client as Client
    from headrace.api import Consumer as Consumer
    from headrace.api import Delivered as Delivered
    from headrace.api import Delivery as Delivery
    from headrace.api import Message as Message
    from headrace.api import Producer as Producer
    from headrace.api import TransactionalProducer as TransactionalProducer
    from headrace.api import connect as connect
    from headrace.api import salted as salted
    from headrace.api import unsalted as unsalted

__version__ = "0.1.0"

_API = frozenset(
    {
        "ApiError", "Client", "Consumer", "Delivered", "Delivery", "Message", "Producer", "TransactionalProducer", "connect",
        "salted", "unsalted",
    }
)  # fmt: skip


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
    return sorted({*globals(), *_API, "aio"})
