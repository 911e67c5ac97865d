"""One reader for the live ends of all topics that somebody listens to, and a feed for each of them.

A single Consumer without a group reads every partition in question; it is started with the first listener. A feed that
nobody listens to any more is closed after a while.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Position

from headrace.gateway.gateway import Gateway
from headrace.gateway.push.block import Event
from headrace.gateway.push.consumer_thread import ConsumerThread
from headrace.gateway.push.feed import Feed
from headrace.gateway.push.kept_blocks import KeptBlocks
from headrace.gateway.push.positions import Positions
from headrace.gateway.push.records import record_of

logger = logging.getLogger("headrace.gateway.push")


class Feeds:
    def __init__(self, gateway: Gateway, kept: KeptBlocks) -> None:
        self._gateway = gateway
        self._kept = kept
        self._feeds: dict[str, Feed] = {}
        self._reader: ConsumerThread | None = None

    async def stop(self) -> None:
        for feed in self._feeds.values():
            feed.close()
            self._kept.forget(feed)
        if self._reader is not None:
            await self._reader.stop()

    def sweep(self, now: float) -> None:
        for feed in list(self._feeds.values()):
            if feed.is_unused(now):
                self._close(feed)

    async def look_for_partitions(self) -> None:
        """One question for all listeners; they learn of new partitions by the first block that has some."""
        whole = [feed for feed in self._feeds.values() if feed.is_whole]
        if not whole:
            return
        found = (await self._gateway.client.metadata([feed.topic for feed in whole])).topics
        for feed in whole:
            there = found[feed.topic].partitions
            if feed.is_closed:
                continue
            if feed.positions.keys() <= there.keys():
                self._extend(feed, dict.fromkeys(there, 0))
            else:
                # Another topic of that name, or none: listeners meet it themselves.
                self._close(feed)

    def at(self, topic: str, positions: Positions) -> Feed | None:
        """The topic's feed, if it has all that whoever is there needs."""
        feed = self._feeds.get(topic)
        return feed if feed is not None and feed.covers(positions) else None

    def open(self, topic: str, positions: Positions) -> None:
        """Opens the feed for a listener at the end of its partitions; partitions that are new to the feed are read from
        there.
        """
        feed = self._feeds.get(topic)
        if feed is None:
            feed = self._feeds[topic] = Feed(topic, time.monotonic())
        # To the others those are new, and are read from their beginning.
        self._extend(feed, dict.fromkeys(positions, 0) if feed.is_whole else positions)

    def _extend(self, feed: Feed, positions: Positions) -> None:
        missing = {partition: at for partition, at in positions.items() if partition not in feed.positions}
        if missing:
            feed.add(missing)
            self._read(feed, missing)

    def _read(self, feed: Feed, positions: Positions) -> None:
        loop = asyncio.get_running_loop()
        wanted = [Position(feed.topic, partition, offset) for partition, offset in positions.items()]

        def assign(consumer: Consumer) -> None:
            consumer.incremental_assign(wanted)
            loop.call_soon_threadsafe(feed.begin, list(positions))

        self._started_reader().order(assign)

    def _close(self, feed: Feed) -> None:
        feed.close()
        self._kept.forget(feed)
        if self._feeds.get(feed.topic) is feed:
            del self._feeds[feed.topic]
        read = [Position(feed.topic, partition) for partition in feed.positions]
        self._started_reader().order(lambda consumer: consumer.incremental_unassign(read))

    # -- the reader --------------------------------------------------------------------------------------------------

    def _started_reader(self) -> ConsumerThread:
        if self._reader is None:
            config = {
                **self._gateway.kafka_config(),
                # librdkafka wants a name even where no group is joined; nothing is ever committed under it.
                "group.id": "headrace-gateway-push",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "queued.max.messages.kbytes": 16384,
                # A partition that is added waits for the fetch that goes on.
                "fetch.wait.max.ms": 100,
            }
            self._reader = ConsumerThread(config, self._on_messages, self._on_error)
            self._reader.start()
        return self._reader

    async def _on_messages(self, messages: Sequence[Message]) -> None:
        by_topic: defaultdict[str, list[Event]] = defaultdict(list)
        for message in messages:
            topic, partition = message.topic(), message.partition()
            assert topic is not None and partition is not None, "what was read has a place"
            by_topic[topic].append(Event(partition, record_of(message)))
        for topic, events in by_topic.items():
            if (feed := self._feeds.get(topic)) is not None:
                self._append(feed, events)

    def _append(self, feed: Feed, events: Sequence[Event]) -> None:
        for block in feed.append(events):
            self._kept.add(feed, block)

    def _on_error(self, error: KafkaError, message: Message) -> None:
        """Closes the feed after any error (the topic is gone, the offset is): its listeners meet it themselves when
        they read on.
        """
        feed = self._feeds.get(message.topic() or "")
        logger.info("reading %(topic)s: %(cause)s", {"topic": message.topic(), "cause": error})
        if feed is not None:
            self._close(feed)
