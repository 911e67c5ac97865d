"""All subscriptions, as the compacted topic `_headrace_webhooks` tells them: read whole at the start, then followed.

Every gateway reads the same log, so all come to the same set (`ledger`). A change is written, and done when it has been read
back: only then is known what it met. The topic is made with the first subscription.

What remains of races, all between gateways that are asked at the same moment: each keeps to `webhooks_max` by what it has
read, so together they may make a few more. Two that want one named group both commit where it begins, and the later commit
stands, for the winner too. The record that lost is deleted by the gateway that wrote it; if that one dies before, it comes
alive in gateways that start after the winner was deleted and compacted away. A change in the moment in which a secret from
before is sealed may be undone.
"""

import asyncio
import logging
from collections.abc import Mapping

from headrace.admin.topics import create_topic
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.base.outage import Outage
from headrace.client.cluster_client import EARLIEST, ClusterClient, Fetched
from headrace.client.connection import Disconnected
from headrace.client.produce.outgoing import Outgoing
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import unreachable
from headrace.gateway.webhooks.ledger import Ledger, OnChange
from headrace.gateway.webhooks.sealed_secrets import SecretKeys
from headrace.gateway.webhooks.subscription import (
    CHANGES,
    Change,
    Mandate,
    Offsets,
    State,
    Subscription,
    change_record,
    mandate_record,
)
from headrace.wire.batch import BatchHeader, CorruptBatch, iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record, read_records

logger = logging.getLogger("headrace.gateway.webhooks")

TOPIC = "_headrace_webhooks"
PARTITION = TopicPartition(TOPIC, 0)
CONFIGS = {"cleanup.policy": "compact", "retention.ms": "-1"}
WAIT_MS = 1000
PAUSE_SECONDS = 1.0
READ_BACK_SECONDS_MAX = 15.0
CORRUPT_FIX = "`headrace log dump` on the broker looks closer"


class Registry:
    def __init__(
        self, gateway: Gateway, on_change: OnChange, outage: Outage | None = None, keys: SecretKeys | None = None
    ) -> None:
        self._gateway = gateway
        self._keys = keys
        self._ledger = Ledger(on_change, keys)
        self._position: int | None = None
        self._moved = asyncio.Condition()
        self._loaded = asyncio.Event()
        self._outage = outage or Outage()

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        return self._ledger.subscriptions

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
                self._tell_trouble(refusal)
                if refusal.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    # It was deleted and made again: what we know is of the old one.
                    self._position = None
                    self._ledger.subscriptions.clear()
                    self._ledger.plain.clear()
            except Disconnected as error:
                self._tell_trouble(error)
            except CorruptBatch as error:
                self._tell_damage(error)
            await asyncio.sleep(PAUSE_SECONDS)

    def _tell_trouble(self, error: Exception) -> None:
        if self._outage.is_news():
            logger.warning("%(topic)s cannot be read: %(cause)s", {"topic": TOPIC, "cause": error})

    def _tell_damage(self, error: CorruptBatch) -> None:
        if self._outage.is_news():
            logger.error(
                "%(topic)s cannot be read from offset %(offset)s on: %(cause)s; %(fix)s",
                {"topic": TOPIC, "offset": self._position, "cause": error, "fix": CORRUPT_FIX},
            )

    def _tell_end_of_trouble(self) -> None:
        if self._outage.has_ended():
            logger.info("%(topic)s is read again", {"topic": TOPIC})

    async def _follow(self, client: ClusterClient) -> None:
        if (await client.metadata([TOPIC])).topics[TOPIC].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._on_end()
            self._tell_end_of_trouble()
            return
        if self._position is None:
            self._position = (await client.offsets({PARTITION: EARLIEST}))[PARTITION].offset
        while True:
            fetched = await client.fetch(PARTITION, self._position, wait_ms=WAIT_MS)
            try:
                self._take(fetched)
            finally:
                # What lies before a damaged batch was taken.
                if len(fetched.batches):
                    async with self._moved:
                        self._moved.notify_all()
            self._tell_end_of_trouble()
            if self._position >= fetched.last_stable_offset:
                self._on_end()

    def _on_end(self) -> None:
        self._ledger.takes_plain = False
        self._loaded.set()

    def _take(self, fetched: Fetched) -> None:
        for at, header in iter_headers(fetched.batches):
            position = self._position or 0
            if not header.is_control:
                for record in self._records(fetched, at, header):
                    if record.offset >= position:
                        self._ledger.apply(record)
            self._position = max(position, header.next_offset)

    def _records(self, fetched: Fetched, at: int, header: BatchHeader) -> list[Record]:
        """None of a batch that cannot be opened; CorruptBatch if what it says of its end cannot be true either."""
        try:
            return read_records(fetched.batches[at : at + header.size])
        except CorruptBatch as error:
            if not (self._position or 0) < header.next_offset <= fetched.high_watermark:
                raise
            logger.error(
                "%(topic)s, offset %(offset)d: passed over: %(cause)s; %(fix)s",
                {"topic": TOPIC, "offset": header.base_offset, "cause": error, "fix": CORRUPT_FIX},
            )
            return []

    # -- writing -----------------------------------------------------------------------------------------------------

    async def put(self, subscription: Subscription) -> None:
        await self._ensure_topic()
        await self._write({subscription.id: subscription.to_record(self._keys)})

    async def change(self, id: str, name: Change, value: State | Offsets) -> None:
        await self._write({f"{id}/{name}": change_record(name, value)})

    async def give_mandate(self, subscription: Subscription, mandate: Mandate) -> None:
        await self._write({f"{subscription.id}/mandate": mandate_record(subscription, mandate, self._keys)})

    async def seal_plain(self) -> None:
        """Seals the secrets that were there before there was a key."""
        for id in list(self._ledger.plain):
            written = self.subscriptions[id]
            await self._write({id: written.to_record(self._keys)})
            now = self.subscriptions.get(id)
            # What changed meanwhile stands before the new record, and is to count behind it too.
            if now is not None and now.state != written.state:
                await self.change(id, "state", now.state)
            if now is not None and now.redrive_until != written.redrive_until:
                await self.change(id, "redrive_until", now.redrive_until)
            logger.info("the secret of %(webhook)s is sealed", {"webhook": id})

    async def delete(self, id: str) -> None:
        await self._write(dict.fromkeys([id, *(f"{id}/{name}" for name in CHANGES)]))

    async def _ensure_topic(self) -> None:
        try:
            await create_topic(self._gateway.admin, TOPIC, partitions=1, configs=CONFIGS)
        except Refused as refusal:
            if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise

    async def _write(self, values: Mapping[str, bytes | None]) -> None:
        records = [Outgoing(value, key.encode(), partition=0) for key, value in values.items()]
        receipt = await self._gateway.producer.send_all(TOPIC, records)
        for _, error in receipt.failures:
            raise error
        end = max(run.first_offset + len(run.indexes) for run in receipt.runs)
        try:
            async with asyncio.timeout(READ_BACK_SECONDS_MAX), self._moved:
                await self._moved.wait_for(lambda: (self._position or 0) >= end)
        except TimeoutError:
            raise unreachable(f"the change is written, but {TOPIC} could not be read back yet") from None
