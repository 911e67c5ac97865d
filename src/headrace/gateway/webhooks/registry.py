"""All subscriptions, as the compacted topic `_headrace_webhooks` tells them: read whole at the start, then followed.

Every gateway reads the same log, so all come to the same set. A change is written, and done when it has been read back.
The topic is made with the first subscription.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, ClusterClient
from headrace.client.connection import Disconnected
from headrace.client.topics import create_topic
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import unreachable
from headrace.gateway.webhooks.subscription import Subscription, from_record
from headrace.wire.batch import iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record, read_records

logger = logging.getLogger("headrace.gateway.webhooks")

TOPIC = "_headrace_webhooks"
PARTITION = TopicPartition(TOPIC, 0)
CONFIGS = {"cleanup.policy": "compact", "retention.ms": "-1"}
WAIT_MS = 1000
PAUSE_SECONDS = 1.0
READ_BACK_SECONDS_MAX = 15.0
OnChange = Callable[[Mapping[str, Subscription]], None]


class Registry:
    def __init__(self, gateway: Gateway, on_change: OnChange) -> None:
        self._gateway = gateway
        self._on_change = on_change
        self._position: int | None = None
        self._moved = asyncio.Condition()
        self._loaded = asyncio.Event()
        self.subscriptions: dict[str, Subscription] = {}

    async def until_loaded(self) -> None:
        """Before that nobody knows what there is."""
        try:
            async with asyncio.timeout(READ_BACK_SECONDS_MAX):
                await self._loaded.wait()
        except TimeoutError:
            raise unreachable(f"{TOPIC} could not be read yet") from None

    # -- reading -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follows the topic until it is cancelled; whatever fails passes or is tried again."""
        while True:
            try:
                await self._follow(self._gateway.client)
            except Refused as refusal:
                logger.warning("%s cannot be read: %s", TOPIC, refusal)
                if refusal.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    # It was deleted and made again: what we know is of the old one.
                    self._position = None
                    self.subscriptions.clear()
            except Disconnected as error:
                logger.warning("%s cannot be read: %s", TOPIC, error)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _follow(self, client: ClusterClient) -> None:
        if (await client.metadata([TOPIC])).topics[TOPIC].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._loaded.set()
            return
        if self._position is None:
            self._position = (await client.offsets({PARTITION: EARLIEST}))[PARTITION].offset
        while True:
            fetched = await client.fetch(PARTITION, self._position, wait_ms=WAIT_MS)
            for at, header in iter_headers(fetched.batches):
                if not header.is_control:
                    self._apply(read_records(fetched.batches[at : at + header.size]))
                self._position = max(self._position, header.next_offset)
            if self._position >= fetched.last_stable_offset:
                self._loaded.set()
            if len(fetched.batches):
                self._on_change(self.subscriptions)
                async with self._moved:
                    self._moved.notify_all()

    def _apply(self, records: list[Record]) -> None:
        for record in records:
            if record.offset < (self._position or 0):
                continue
            id = (record.key or b"").decode(errors="replace")
            if not record.value:
                self.subscriptions.pop(id, None)
            elif (subscription := from_record(record.value)) is not None:
                self.subscriptions[id] = subscription
            else:
                logger.warning("%s: offset %d is not a subscription that we understand", TOPIC, record.offset)

    # -- writing -----------------------------------------------------------------------------------------------------

    async def put(self, subscription: Subscription) -> None:
        await self._ensure_topic()
        await self._write(subscription.id, subscription.to_record())

    async def delete(self, id: str) -> None:
        await self._write(id, None)

    async def _ensure_topic(self) -> None:
        try:
            await create_topic(self._gateway.admin, TOPIC, partitions=1, configs=CONFIGS)
        except Refused as refusal:
            if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise

    async def _write(self, id: str, value: bytes | None) -> None:
        written = await self._gateway.producer.send(TOPIC, value, key=id.encode(), partition=0)
        try:
            async with asyncio.timeout(READ_BACK_SECONDS_MAX), self._moved:
                await self._moved.wait_for(lambda: (self._position or 0) > written.offset)
        except TimeoutError:
            raise unreachable(f"the change is written, but {TOPIC} could not be read back yet") from None
