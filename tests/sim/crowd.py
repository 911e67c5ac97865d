"""Producers that come, write once to each partition and go: more of them than a partition remembers.

One at a time. While the others still write there are too few to make a partition forget any of those: what it forgot it
would take twice. The rest comes when they are done.
"""

import asyncio
from typing import Any

from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.records import Record, build_batch, read_records
from sim.checks import Checks
from sim.clients import PRODUCE, Directory, Refusal, new_producer
from sim.host import WALL_START
from sim.wireclient import Lost
from sim.world import World

COMMON_MAX = 12
PACE_SECONDS = 1.0
MORE = 4


class Crowd:
    def __init__(self, world: World, checks: Checks, topic: str, partitions: int, producers_max: int) -> None:
        self.is_done = False
        self._may_rush = asyncio.Event()
        self._world = world
        self._checks = checks
        self._topic = topic
        self._partitions = partitions
        self._size = producers_max + MORE
        self._rng = world.rng("crowd")
        self._loop = world.client_loop("producer crowd")
        self._directory = Directory(world, self._loop, self._rng)
        world.spawn(self._loop, self._run())

    async def _run(self) -> None:
        for number in range(self._size):
            if number >= COMMON_MAX:
                await self._may_rush.wait()
            if not self._may_rush.is_set():
                await asyncio.sleep(self._rng.expovariate(1 / PACE_SECONDS))
            await self._visit(f"v{number}")
        self.is_done = True

    def rush(self) -> None:
        """From the world, which has no loop of its own."""
        self._loop.call_soon(self._may_rush.set)

    async def _visit(self, name: str) -> None:
        producer_id, epoch = await new_producer(self._directory, self._checks)
        stamp = int((WALL_START + self._world.agenda.now) * 1000)
        for index in range(self._partitions):
            value = f"{name}/{index}/".encode()
            records = [Record(timestamp=stamp, value=value)]
            batch = build_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=0)
            self._checks.on_sent(self._topic, index, [value])
            while not await self._write(index, batch):
                self._directory.doubt(self._topic, index)
                await self._directory.back_off()

    async def _write(self, index: int, batch: bytes) -> bool:
        parts = [PartitionProduceData(index, memoryview(batch))]
        request = ProduceRequest(None, -1, 2000, [TopicProduceData(self._topic, partition_data=parts)])
        try:
            link = await self._directory.leader_link(self._topic, index, self._on_broker_reply)
            answer = await link.ask(request, PRODUCE)
            link.close()
        except (Lost, Refusal):
            return False
        return not answer.responses[0].partition_responses[0].error_code

    def _on_broker_reply(self, address: str, request: Any, response: Any) -> None:
        part = response.responses[0].partition_responses[0]
        if part.error_code == 0:
            self._checks.on_answered(address, "an ack")
            values = [record.value for record in read_records(request.topic_data[0].partition_data[0].records)]
            self._checks.on_ack(self._topic, part.index, part.base_offset, values)
