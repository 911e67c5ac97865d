"""Two clients that measure how long a partition acknowledges nothing: an impatient one, and librdkafka as it comes.

The prober writes one record after the other to each partition with acks=all, gives each request half a second, asks
anybody who answers for the leader, and tries again at once: its gaps are the brokers', not a client's. The other is a
producer with all defaults, whose own time-outs and back-offs are in its gaps.
"""

import asyncio
import contextlib
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from confluent_kafka import Message, Producer

from clients.raw_records import good_batch, produce_request
from headrace.client.connection import ClientConnection, Disconnected
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from headrace.wire.messages.produce import ProduceResponse

REQUEST_SECONDS = 0.5
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


class Prober:
    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.acks = Acks()
        self._addresses = [
            (host, int(port)) for host, _, port in (each.rpartition(":") for each in bootstrap.split(","))
        ]
        self._topic = topic
        self._partitions = partitions
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="prober", daemon=True)
        self._stopping = threading.Event()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(30)

    async def _run(self) -> None:
        await asyncio.gather(*(self._probe(partition) for partition in range(self._partitions)))

    async def _probe(self, partition: int) -> None:
        turn = partition
        while not self._stopping.is_set():
            with contextlib.suppress(Disconnected):
                leader = await self._leader(partition, self._addresses[turn % len(self._addresses)])
                if leader is not None:
                    await self._write(partition, leader)
            turn += 1
            await asyncio.sleep(PAUSE_SECONDS)

    async def _leader(self, partition: int, address: tuple[str, int]) -> tuple[str, int] | None:
        connection = await ClientConnection.open(*address, "prober", REQUEST_SECONDS)
        try:
            request = MetadataRequest([MetadataRequestTopic(name=self._topic)], allow_auto_topic_creation=False)
            answer = await connection.ask(request, MetadataResponse, METADATA_VERSION, REQUEST_SECONDS)
        finally:
            connection.close()
        brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
        found = (each for topic in answer.topics for each in topic.partitions if each.partition_index == partition)
        return next((brokers.get(each.leader_id) for each in found), None)

    async def _write(self, partition: int, leader: tuple[str, int]) -> None:
        """Until it is refused, or not answered in time."""
        connection = await ClientConnection.open(*leader, "prober", REQUEST_SECONDS)
        try:
            while not self._stopping.is_set():
                request = produce_request(self._topic, good_batch(b"probe"), partition=partition, timeout_ms=500)
                answer = await connection.ask(request, ProduceResponse, PRODUCE_VERSION, REQUEST_SECONDS)
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
