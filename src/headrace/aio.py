"""`headrace` for asyncio, with the same names:

import headrace

async with headrace.aio.connect("127.0.0.1:9092") as client:
    await client.produce("orders", {"id": 1})
"""

from headrace.base.extras import explained

try:
    from headrace.api.aio import Client as Client
    from headrace.api.aio import Consumer as Consumer
    from headrace.api.aio import Delivery as Delivery
    from headrace.api.aio import Producer as Producer
    from headrace.api.aio import Transaction as Transaction
    from headrace.api.aio import TransactionalProducer as TransactionalProducer
    from headrace.api.aio import connect as connect
except ModuleNotFoundError as missing:
    raise explained(missing) from None
