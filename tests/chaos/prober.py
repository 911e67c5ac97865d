"""Two clients that measure how long a partition acknowledges nothing: an impatient one, and librdkafka as it comes.

The prober writes one record after the other to each partition with acks=all. It asks every broker who leads, many times a
second, and goes to a new leader as soon as anybody names one, whatever the old one still owes: its gaps are the brokers',
not a client's. The other is a producer with all defaults, whose own time-outs and back-offs are in its gaps.
"""

import asyncio
import contextlib
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from confluent_kafka import Message, Producer

from clients.raw_records import good_batch, produce_request
from headrace.client.connection import ClientConnection, Disconnected
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from headrace.wire.messages.produce import ProduceResponse

# Of one who is asked for leaders; another may know meanwhile.
ANSWER_SECONDS = 1.0
# Of a write: only a new leader ends it sooner.
ACK_SECONDS = 60.0
PAUSE_SECONDS = 0.02
PRODUCE_VERSION, METADATA_VERSION = 9, 9
WAITING_MAX = 50


class Acks:
    """When each partition acknowledged something."""

    def __init__(self) -> None:
        self._times: defaultdict[int, list[float]] = defaultdict(list)

    def note(self, partition: int) -> None:
        self._times[partition].append(time.monotonic())

    def has_since(self, partitions: Iterable[int], moment: float) -> bool:
        return all(self._times[each] and self._times[each][-1] > moment for each in partitions)

    def longest_gap(self, partitions: Iterable[int], since: float) -> float:
        """The worst of these partitions, from its last ack before that moment on."""
        return max(self._gap(self._times[each], since) for each in partitions)

    def _gap(self, times: list[float], since: float) -> float:
        first = max(0, bisect_left(times, since) - 1)
        return max((after - before for before, after in pairwise(times[first:])), default=0.0)


class Leader(NamedTuple):
    epoch: int
    host: str = ""
    port: int = -1


class Leaders:
    """Who leads each partition by the newest word of any broker."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._known: dict[int, Leader] = {}
        self._changed = asyncio.Event()

    def of(self, partition: int) -> Leader | None:
        """None while nobody leads."""
        leader = self._known.get(partition)
        return leader if leader is not None and leader.host else None

    async def until_other(self, partition: int, than: Leader | None) -> None:
        while self.of(partition) == than:
            await self._changed.wait()

    async def ask_for_ever(self, host: str, port: int) -> None:
        while True:
            with contextlib.suppress(Disconnected):
                connection = await ClientConnection.open(host, port, "prober", ANSWER_SECONDS)
                try:
                    await self._ask_for_ever(connection)
                finally:
                    connection.close()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _ask_for_ever(self, connection: ClientConnection) -> None:
        request = MetadataRequest([MetadataRequestTopic(name=self._topic)], allow_auto_topic_creation=False)
        while True:
            self._take(await connection.ask(request, MetadataResponse, METADATA_VERSION, ANSWER_SECONDS))
            await asyncio.sleep(PAUSE_SECONDS)

    def _take(self, answer: MetadataResponse) -> None:
        brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
        for each in (partition for topic in answer.topics for partition in topic.partitions):
            leader = Leader(each.leader_epoch, *brokers.get(each.leader_id, ()))
            known = self._known.get(each.partition_index)
            # Of one epoch there is one leader, whom a broker may not list while it does not take it for alive.
            if known is None or leader.epoch > known.epoch or (leader.epoch == known.epoch and not known.host):
                self._known[each.partition_index] = leader
                self._changed.set()
                self._changed.clear()


class Prober:
    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.acks = Acks()
        self._addresses = [
            (host, int(port)) for host, _, port in (each.rpartition(":") for each in bootstrap.split(","))
        ]
        self._topic = topic
        self._partitions = partitions
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(
            target=lambda: self._loop.run_until_complete(self._run()), name="prober", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(30)
        self._loop.close()

    async def _run(self) -> None:
        leaders = Leaders(self._topic)
        tasks = [asyncio.create_task(leaders.ask_for_ever(*address)) for address in self._addresses]
        tasks += [asyncio.create_task(self._probe(partition, leaders)) for partition in range(self._partitions)]
        await self._stopping.wait()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def _probe(self, partition: int, leaders: Leaders) -> None:
        while True:
            leader = leaders.of(partition)
            if leader is None:
                await leaders.until_other(partition, leader)
                continue
            work = [self._write(partition, leader), leaders.until_other(partition, leader)]
            tasks = [asyncio.create_task(each) for each in work]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _write(self, partition: int, leader: Leader) -> None:
        """Until it is refused, or not answered."""
        with contextlib.suppress(Disconnected):
            connection = await ClientConnection.open(leader.host, leader.port, "prober", ACK_SECONDS)
            try:
                while True:
                    request = produce_request(self._topic, good_batch(b"probe"), partition=partition, timeout_ms=60_000)
                    answer = await connection.ask(request, ProduceResponse, PRODUCE_VERSION, ACK_SECONDS)
                    if answer.responses[0].partition_responses[0].error_code:
                        return
                    self.acks.note(partition)
                    await asyncio.sleep(PAUSE_SECONDS)
            finally:
                connection.close()


class DefaultProducer:
    """librdkafka, idempotent, with every time-out at its default."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.acks = Acks()
        self._topic = topic
        self._partitions = partitions
        self._waiting: defaultdict[int, int] = defaultdict(int)
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="default producer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.purge()
        self._producer.flush(0)

    def _run(self) -> None:
        while not self._stopping.is_set():
            for partition in range(self._partitions):
                if self._waiting[partition] < WAITING_MAX:
                    self._waiting[partition] += 1
                    self._producer.produce(self._topic, b"probe", partition=partition, on_delivery=self._on_delivery)
            self._producer.poll(PAUSE_SECONDS)

    def _on_delivery(self, error: object, message: Message) -> None:
        partition = message.partition()
        assert partition is not None
        self._waiting[partition] -= 1
        if error is None:
            self.acks.note(partition)
