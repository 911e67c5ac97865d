"""One subscription's work in this gateway: a member of its group, a lane for each partition that it is given.

Partitions move between gateways with the group; a lane ends when its partition goes. Offsets are committed when the
receiver has accepted what lies before them, or it is among the dead letters, so whoever takes over repeats at most what
was not yet committed, and skips nothing.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from headrace.base.errors import Refused
from headrace.base.outage import Outage
from headrace.client.connection import Disconnected
from headrace.client.produce.outgoing import Outgoing
from headrace.gateway.gateway import Gateway
from headrace.gateway.push.consumer_thread import ConsumerThread
from headrace.gateway.push.records import record_of
from headrace.gateway.webhooks.lane import Item, Lane
from headrace.gateway.webhooks.letter import Letter, body_of, delivery_id, to_dead_letter
from headrace.gateway.webhooks.retry import Answer
from headrace.gateway.webhooks.sender import Sender
from headrace.gateway.webhooks.signature import signed_headers
from headrace.gateway.webhooks.source import Source
from headrace.gateway.webhooks.subscription import Subscription
from headrace.gateway.webhooks.tally import Tally
from headrace.gateway.webhooks.target import parse_networks

logger = logging.getLogger("headrace.gateway.webhooks")

PARALLEL_MAX = 16
BURY_PAUSE_SECONDS = 2.0


class Courier:
    def __init__(self, gateway: Gateway, subscription: Subscription, source: Source, tally: Tally) -> None:
        self.subscription = subscription
        self.source = source
        self.tally = tally
        self.delivered = 0
        self.dead_letters = 0
        self.trouble = ""
        self._reading = Outage()
        self._burying = Outage()
        self.lanes: dict[int, Lane] = {}
        self._gateway = gateway
        self._tasks: dict[int, asyncio.Task[None]] = {}
        networks = parse_networks(gateway.settings.webhook_networks)
        self._sender = Sender(subscription.callback_url, subscription.timeout_ms, PARALLEL_MAX, networks)
        self._reader = ConsumerThread(self._config(), self._on_messages, self._on_error)

    def _config(self) -> dict[str, Any]:
        return {
            **self._gateway.kafka_config(),
            "group.id": self.source.group,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": self._gateway.settings.group_session_ms,
            "heartbeat.interval.ms": self._gateway.settings.group_session_ms // 4,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # Where a subscription begins is committed before it exists: this is for partitions that are added later.
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "queued.max.messages.kbytes": 4096,
            "fetch.message.max.bytes": 1 << 20,
            "fetch.wait.max.ms": 500,
        }

    def start(self) -> None:
        self._reader.subscribe([self.source.topic], self._on_assigned, self._on_revoked)
        self._reader.start()

    async def stop(self) -> None:
        await self._end_lanes(list(self.lanes))
        await self._reader.stop()
        await self._sender.close()

    def status(self) -> dict[str, Any]:
        return {
            "delivered": self.delivered,
            "dead_letters": self.dead_letters,
            "trouble": self.trouble,
            "partitions": [
                {
                    "partition": lane.partition,
                    "next_offset": lane.next_offset,
                    "tries": lane.tries,
                    "trouble": lane.trouble,
                }
                for _, lane in sorted(self.lanes.items())
            ],
        }

    # -- the reader's side -------------------------------------------------------------------------------------------

    async def _on_assigned(self, partitions: Sequence[Position]) -> None:
        await self._end_lanes([each.partition for each in partitions])
        policy, messages_max = self.subscription.retry, self.subscription.messages_max
        for each in partitions:
            lane = self.lanes[each.partition] = Lane(each.partition, self, policy, messages_max)
            lane.on_room = self._read_on
            self._tasks[each.partition] = asyncio.create_task(lane.run(), name=f"webhook {self.subscription.id} {each}")

    async def _on_revoked(self, partitions: Sequence[Position]) -> None:
        await self._end_lanes([each.partition for each in partitions])

    async def _end_lanes(self, partitions: Sequence[int]) -> None:
        ended = [self._tasks.pop(partition) for partition in partitions if partition in self._tasks]
        for partition in partitions:
            self.lanes.pop(partition, None)
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)

    async def _on_messages(self, messages: Sequence[Message]) -> None:
        self.trouble = ""
        if self._reading.has_ended():
            fields = {"webhook": self.subscription.id, "topic": self.source.topic}
            logger.info("webhook %(webhook)s: %(topic)s is read again", fields)
        full = set()
        for message in messages:
            partition, record = message.partition(), record_of(message)
            lane = self.lanes.get(partition) if partition is not None else None
            if lane is None or self.source.ends_before(lane.partition, record.offset):
                continue
            lane.offer(Item(record.offset, self.source.letter(lane.partition, record)))
            if lane.is_full:
                full.add(lane.partition)
        if full:
            resting = [Position(self.source.topic, partition) for partition in full]
            self._reader.order(lambda consumer: consumer.pause(resting))

    def _read_on(self, partition: int) -> None:
        self._reader.order(lambda consumer: consumer.resume([Position(self.source.topic, partition)]))

    def _on_error(self, error: KafkaError, _: Message) -> None:
        self.trouble = str(error.str())
        if self._reading.is_news():
            fields = {"webhook": self.subscription.id, "topic": self.source.topic, "cause": error}
            logger.warning("webhook %(webhook)s: reading %(topic)s: %(cause)s", fields)

    # -- the lanes' side ---------------------------------------------------------------------------------------------

    async def deliver(self, letters: list[Letter], tries: int) -> Answer:
        subscription = self.subscription
        body = body_of(subscription.id, letters)
        id = delivery_id(subscription.id, letters)
        headers = signed_headers(subscription.secret, id, int(time.time()), body)
        answer = await self._sender.post({**headers, "headrace-try": str(tries)}, body)
        self.tally.on_answer(answer, tries, len(letters))
        if answer.is_accepted:
            self.delivered += len(letters)
        return answer

    async def bury(self, letters: list[Letter], reason: str, tries: int) -> None:
        while True:
            if await self._is_buried(letters, reason, tries):
                break
            await asyncio.sleep(BURY_PAUSE_SECONDS)
        self.trouble = ""
        if self._burying.has_ended():
            logger.info("webhook %(webhook)s: dead letters are written again", {"webhook": self.subscription.id})
        self.dead_letters += len(letters)
        self.tally.dead_letters += len(letters)

    async def _is_buried(self, letters: list[Letter], reason: str, tries: int) -> bool:
        fields = {"webhook": self.subscription.id}
        try:
            await self._write_dead_letters(letters, reason, tries)
            return True
        except (KafkaException, BufferError, Refused, Disconnected) as error:
            self.trouble = f"dead letters cannot be written: {error}"
            if self._burying.is_news():
                logger.warning("webhook %(webhook)s: %(cause)s", {**fields, "cause": self.trouble})
        except Exception as error:
            # The lane must not end with it: nobody would see that.
            self.trouble = f"dead letters cannot be written: a fault of the gateway: {type(error).__name__}: {error}"
            if self._burying.is_news():
                logger.exception("webhook %(webhook)s: a fault of ours; trying again", fields)
        return False

    async def _write_dead_letters(self, letters: list[Letter], reason: str, tries: int) -> None:
        topic, now_ms = self.subscription.dead_letter_topic, int(time.time() * 1000)
        partitions = (await self._gateway.client.metadata([topic])).topics[topic].partitions
        outgoing = []
        for letter in letters:
            record = to_dead_letter(letter, self.subscription.id, reason, tries, now_ms)
            # Messages of one partition stay together and in order.
            partition = letter.partition % max(1, len(partitions))
            outgoing.append(Outgoing(record.value, record.key, list(record.headers), partition, now_ms))
        receipt = await self._gateway.producer.send_all(topic, outgoing)
        if receipt.failures:
            raise receipt.failures[0][1]

    def commit(self, partition: int, next_offset: int) -> None:
        offsets = [Position(self.source.topic, partition, next_offset)]
        self._reader.order(lambda consumer: consumer.commit(offsets=offsets, asynchronous=True))
