"""The same API for asyncio: the same classes do the work, in threads, and nothing here blocks the event loop.

A task that is cancelled leaves nothing half done: a message whose loop was cancelled is read again, a transaction is
aborted, or, if its commit is on its way, the cancellation goes on when the commit has ended.
"""

from headrace.api.aio.client import Client, connect
from headrace.api.aio.consumer import Consumer
from headrace.api.aio.producer import Delivery, Producer
from headrace.api.aio.transaction import Transaction, TransactionalProducer

__all__ = ["Client", "Consumer", "Delivery", "Producer", "Transaction", "TransactionalProducer", "connect"]
