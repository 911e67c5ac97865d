"""FastStream at its ordinary work: a subscriber in a group that publishes a copy of each message, until SIGTERM.

Arguments: bootstrap, group, source, sink.
"""

import asyncio
import sys

from faststream import AckPolicy, FastStream
from faststream.kafka import KafkaBroker, KafkaMessage, KafkaResponse

BOOTSTRAP, GROUP, SOURCE, SINK = sys.argv[1:]

broker = KafkaBroker(BOOTSTRAP.split(","), acks="all", enable_idempotence=True)
app = FastStream(broker)


# By default FastStream acknowledges a message before its function runs: it is lost if that fails.
@broker.subscriber(SOURCE, group_id=GROUP, auto_offset_reset="earliest", ack_policy=AckPolicy.NACK_ON_ERROR)
@broker.publisher(SINK)
async def copy(value: bytes, message: KafkaMessage) -> KafkaResponse:
    return KafkaResponse(value, key=message.raw_message.key)


asyncio.run(app.run())
