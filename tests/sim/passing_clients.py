"""Clients of topics that come and go: each writes and reads whatever there is of its name, by topic id.

A topic that is made again under its name is another one, with nothing of the one before in it: `label` tells them apart,
and to the checks each is a topic of its own. What was not acknowledged when its topic went is forgotten with it.
"""

import asyncio
from typing import Any

from headrace.wire.batch import CorruptBatch
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.records import Record, build_batch, read_records
from sim.checks import Checks, label
from sim.clients import Directory, Refusal, new_producer
from sim.consumers import records_of
from sim.host import WALL_START
from sim.wireclient import Lost, WireClient
from sim.world import World

METADATA, PRODUCE, FETCH = 12, 13, 13
PACE_SECONDS = 0.15
TURNS = 12
WAIT_MS = 20

Place = tuple[bytes, int]


class PassingClient:
    def __init__(self, world: World, checks: Checks, name: str) -> None:
        self.name = f"producer of {name}"
        self.is_done = False
        self.stopping = False
        self._world = world
        self._checks = checks
        self._topic = name
        self._rng = world.rng(self.name)
        self._loop = world.client_loop(self.name)
        self._directory = Directory(world, self._loop, self._rng)
        self._identity = (-1, -1)
        self._written: dict[Place, int] = {}
        """How many have been sent, and acknowledged but for the last."""
        self._unacked: dict[Place, bytes] = {}
        self._positions: dict[Place, int] = {}
        world.spawn(self._loop, self._run())

    async def _run(self) -> None:
        self._identity = await new_producer(self._directory, self._checks)
        while not self.stopping:
            links: dict[tuple[str, int], WireClient] = {}
            try:
                await self._stay(links)
            except (Lost, Refusal, CorruptBatch):
                pass
            finally:
                for link in links.values():
                    link.close()
            await self._directory.back_off()
        self.is_done = True

    async def _stay(self, links: dict[tuple[str, int], WireClient]) -> None:
        """A while with the topic as it is now; then it may have more partitions, or be another."""
        topic_id, leaders = await self._look()
        for _ in range(TURNS):
            await asyncio.sleep(self._rng.expovariate(1 / PACE_SECONDS))
            if self.stopping:
                return
            index = self._rng.choice(list(leaders))
            address = leaders[index]
            if address not in links:
                links[address] = await WireClient.open(self._loop, address, self._on_broker_reply)
            await self._write(links[address], (topic_id, index))
            await self._read(links[address], (topic_id, index))

    async def _look(self) -> tuple[bytes, dict[int, tuple[str, int]]]:
        link = await self._directory.any()
        try:
            wanted = [MetadataRequestTopic(name=self._topic)]
            answer = await link.ask(MetadataRequest(wanted, allow_auto_topic_creation=False), METADATA)
        finally:
            link.close()
        found, brokers = answer.topics[0], {each.node_id: (each.host, each.port) for each in answer.brokers}
        leaders = {
            part.partition_index: brokers[part.leader_id] for part in found.partitions if part.leader_id in brokers
        }
        if not leaders:
            raise Refusal("there is no such topic")
        return found.topic_id, leaders

    # -- writing -----------------------------------------------------------------------------------------------------

    async def _write(self, link: WireClient, place: Place) -> None:
        """What is new, or again what nobody knows the fate of."""
        topic_id, index = place
        if place not in self._unacked:
            self._written[place] = self._written.get(place, 0) + 1
            self._unacked[place] = f"{label(self._topic, topic_id)}/{index}/{self._written[place]}/".encode()
            self._checks.on_sent(label(self._topic, topic_id), index, [self._unacked[place]])
        parts = [PartitionProduceData(index, memoryview(self._batch(place)))]
        request = ProduceRequest(None, -1, 2000, [TopicProduceData(topic_id=topic_id, partition_data=parts)])
        answer = await link.ask(request, PRODUCE)
        code = answer.responses[0].partition_responses[0].error_code
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self._checks.on_forgotten(label(self._topic, topic_id), index, self._unacked[place])
        if code:
            raise Refusal(f"error {code}")
        del self._unacked[place]

    def _batch(self, place: Place) -> bytes:
        stamp = int((WALL_START + self._world.agenda.now) * 1000)
        return build_batch(
            [Record(timestamp=stamp, value=self._unacked[place])],
            producer_id=self._identity[0],
            producer_epoch=self._identity[1],
            base_sequence=self._written[place] - 1,
        )

    def _on_broker_reply(self, address: str, request: Any, response: Any) -> None:
        if not isinstance(request, ProduceRequest):
            return
        topic, part = request.topic_data[0], response.responses[0].partition_responses[0]
        if part.error_code == 0:
            self._checks.on_answered(address, "an ack")
            values = [record.value for record in read_records(topic.partition_data[0].records or b"")]
            self._checks.on_ack(label(self._topic, topic.topic_id), part.index, part.base_offset, values)

    # -- reading -----------------------------------------------------------------------------------------------------

    async def _read(self, link: WireClient, place: Place) -> None:
        topic_id, index = place
        position = self._positions.get(place, 0)
        wanted = FetchTopic(
            topic_id=topic_id, partitions=[FetchPartition(index, -1, position, partition_max_bytes=4096)]
        )
        request = FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=[wanted])
        answer = await link.ask(request, FETCH)
        for part in [part for topic in answer.responses for part in topic.partitions]:
            if part.error_code:
                raise Refusal(f"error {part.error_code}")
            self._take(place, part)

    def _take(self, place: Place, part: Any) -> None:
        topic, index = label(self._topic, place[0]), place[1]
        for _, record in records_of(part.records):
            position = self._positions.get(place, 0)
            if record.offset >= position:
                value = record.value or b""
                if not value.startswith(f"{topic}/{index}/".encode()):
                    self._checks.fail("agreed", f"{topic}-{index} offset {record.offset} holds {value!r}")
                self._checks.on_read(self.name, topic, index, record.offset, value, position, part.high_watermark)
                self._positions[place] = record.offset + 1
