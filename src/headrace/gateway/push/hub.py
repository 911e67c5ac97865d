"""One reader for the live ends of all topics that somebody listens to, and the one bound on what is kept for them.

A single Consumer without a group reads every partition in question; it is started with the first listener. A feed that
nobody listens to any more is closed after a while. The hub also looks after its listeners: idle ones get a sign of life
now and then, one that takes nothing for too long is let go. Now and then it asks for partitions that were added.
"""

import asyncio
import logging
import resource
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Position

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.intake import too_busy
from headrace.gateway.push.block import Event
from headrace.gateway.push.consumer_thread import ConsumerThread
from headrace.gateway.push.feed import Feed
from headrace.gateway.push.kept_blocks import KeptBlocks
from headrace.gateway.push.positions import Positions
from headrace.gateway.push.reading import Readings
from headrace.gateway.push.records import record_of
from headrace.gateway.settings import GatewaySettings

logger = logging.getLogger("headrace.gateway.push")

SWEEP_SECONDS = 1.0
HUB_LOOK_SECONDS = 60.0
BEHIND_READS_MAX = 8
# For whatever is no listener: requests, brokers, files.
DESCRIPTORS_KEPT = 200


class Kept(Protocol):
    """A listener as the hub sees it."""

    def sweep(self, now: float) -> None: ...

    def end(self, reason: str) -> None: ...


class GroupListener(Kept, Protocol):
    """A listener that belongs to a group from its start until it is closed."""

    def start(self) -> None: ...

    async def close(self) -> None: ...


class Sent:
    """Events that were handed to connections, by the kind of these."""

    def __init__(self) -> None:
        self.sse = 0
        self.websocket = 0


class Places:
    """The listeners of all hubs of a process, and what is kept for them: they have one bound."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.sent = Sent()
        self.listeners = self.in_groups = 0
        self.kept = KeptBlocks(settings.push_buffer_bytes_max)
        self.descriptors_max = _all_descriptors()


class Hub:
    def __init__(self, gateway: Gateway, places: Places | None = None) -> None:
        self.gateway = gateway
        self.places = places or Places(gateway.settings)
        self.sent = self.places.sent
        self.behind_reads = asyncio.Semaphore(BEHIND_READS_MAX)
        self.readings = Readings()
        self._feeds: dict[str, Feed] = {}
        self._listeners: dict[Kept, None] = {}
        self._members: set[GroupListener] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._reader: ConsumerThread | None = None
        self._rounds: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._rounds = [asyncio.create_task(self._run_sweeps()), asyncio.create_task(self._run_looks())]

    async def stop(self) -> None:
        for each in self._rounds:
            each.cancel()
        self.end_all("the gateway stops")
        await asyncio.gather(*self._leaving)
        for feed in self._feeds.values():
            feed.close()
            self.places.kept.forget(feed)
        if self._reader is not None:
            await self._reader.stop()

    def end_all(self, reason: str) -> None:
        """Streams have no end of their own: a server that stops has to end them first."""
        for listener in list(self._listeners):
            listener.end(reason)

    # -- listeners ---------------------------------------------------------------------------------------------------

    @property
    def listeners(self) -> int:
        return self.places.listeners

    @property
    def in_groups(self) -> int:
        """The number of listeners that are members of groups."""
        return self.places.in_groups

    @property
    def kept_bytes(self) -> int:
        return self.places.kept.bytes

    @contextmanager
    def keeping(self, listener: Kept) -> Iterator[None]:
        """Counts a listener while it listens. Raises if there are too many."""
        self._take_place(listener)
        try:
            yield
        finally:
            self._give_place_back(listener)

    @contextmanager
    def keeping_member(self, member: GroupListener) -> Iterator[None]:
        """The same, for one that joins a group here. Its place is free again when it has left."""
        if self.places.in_groups >= self.gateway.settings.push_groups_max:
            raise too_busy(f"there are {self.places.in_groups} listeners in groups already (push_groups_max)")
        self._take_place(member)
        self._members.add(member)
        self.places.in_groups += 1
        try:
            member.start()
            yield
        finally:
            # Not a task of the connection's: whatever happens to that one, the group is left.
            leaving = asyncio.create_task(self._leave(member))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    def _take_place(self, listener: Kept) -> None:
        listeners_max = min(self.gateway.settings.push_listeners_max, self.places.descriptors_max - DESCRIPTORS_KEPT)
        if self.places.listeners >= listeners_max:
            reason = "push_listeners_max, or the limit of open files (ulimit -n)"
            raise too_busy(f"there are {self.places.listeners} listeners already ({reason})")
        self._listeners[listener] = None
        self.places.listeners += 1

    def _give_place_back(self, listener: Kept) -> None:
        del self._listeners[listener]
        self.places.listeners -= 1

    async def _leave(self, member: GroupListener) -> None:
        try:
            await member.close()
        finally:
            self._members.discard(member)
            self.places.in_groups -= 1
            self._give_place_back(member)

    async def _run_sweeps(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for listener in list(self._listeners):
                listener.sweep(now)
            for feed in list(self._feeds.values()):
                if feed.is_unused(now):
                    self._close(feed)
            self.readings.clear()

    async def _run_looks(self) -> None:
        while True:
            await asyncio.sleep(HUB_LOOK_SECONDS)
            try:
                await self._look_for_partitions()
            except (Refused, Disconnected) as error:
                logger.info("looking for new partitions: %(cause)s", {"cause": error})

    async def _look_for_partitions(self) -> None:
        """One question for all listeners; they learn of new partitions by the first block that has some."""
        whole = [feed for feed in self._feeds.values() if feed.is_whole]
        if not whole:
            return
        found = (await self.gateway.client.metadata([feed.topic for feed in whole])).topics
        for feed in whole:
            there = found[feed.topic].partitions
            if feed.is_closed:
                continue
            if feed.positions.keys() <= there.keys():
                self._extend(feed, dict.fromkeys(there, 0))
            else:
                # Another topic of that name, or none: listeners meet it themselves.
                self._close(feed)

    # -- feeds -------------------------------------------------------------------------------------------------------

    def feed_at(self, topic: str, positions: Positions) -> Feed | None:
        """The topic's feed, if it has all that whoever is there needs."""
        feed = self._feeds.get(topic)
        return feed if feed is not None and feed.covers(positions) else None

    def open_feed(self, topic: str, positions: Positions) -> None:
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
        self.places.kept.forget(feed)
        if self._feeds.get(feed.topic) is feed:
            del self._feeds[feed.topic]
        read = [Position(feed.topic, partition) for partition in feed.positions]
        self._started_reader().order(lambda consumer: consumer.incremental_unassign(read))

    # -- the reader --------------------------------------------------------------------------------------------------

    def _started_reader(self) -> ConsumerThread:
        if self._reader is None:
            config = {
                **self.gateway.kafka_config(),
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
                self._keep(feed, events)

    def _keep(self, feed: Feed, events: Sequence[Event]) -> None:
        for block in feed.append(events):
            self.places.kept.add(feed, block)

    def _on_error(self, error: KafkaError, message: Message) -> None:
        """Closes the feed after any error (the topic is gone, the offset is): its listeners meet it themselves when
        they read on.
        """
        feed = self._feeds.get(message.topic() or "")
        logger.info("reading %(topic)s: %(cause)s", {"topic": message.topic(), "cause": error})
        if feed is not None:
            self._close(feed)


def _all_descriptors() -> int:
    """How many files we may have open: as many as the system lets us ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return 1 << 30
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
