"""An idempotent producer that puts a batch for each partition of a leader into one request, as the Java client does.

Of those some may be taken and some refused: each partition goes on for itself, with one batch on its way at a time.
"""

import asyncio
from typing import Any

from headrace.wire.codes import ErrorCode
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.records import Record, build_batch, read_records
from sim.checks import Checks
from sim.clients import ANSWER_SECONDS_MAX, PRODUCE, Directory, Refusal, new_producer
from sim.host import WALL_START
from sim.wireclient import Lost, WireClient
from sim.world import World

TURNS = 12


class WideProducer:
    def __init__(self, world: World, checks: Checks, number: int, topic: str, partitions: int, pace: float) -> None:
        self.name = f"w{number}"
        self.is_done = False
        self.stopping = False
        self._world = world
        self._checks = checks
        self._topic = topic
        self._pace = pace
        self._rng = world.rng(f"producer {self.name}")
        self._loop = world.client_loop(f"producer {self.name}")
        self._directory = Directory(world, self._loop, self._rng)
        self._identity = (-1, -1)
        self._sequences = dict.fromkeys(range(partitions), 0)
        self._unacked: dict[int, list[bytes]] = {}
        self._codec = self._rng.randrange(5)
        world.spawn(self._loop, self._run())

    async def _run(self) -> None:
        self._identity = await new_producer(self._directory, self._checks)
        while self._unacked or not self.stopping:
            index = self._rng.choice(list(self._unacked or self._sequences))
            try:
                await self._stay_with_leader_of(index)
            except (Lost, Refusal):
                for each in self._sequences:
                    self._directory.doubt(self._topic, each)
                await self._directory.back_off()
        self.is_done = True

    async def _stay_with_leader_of(self, index: int) -> None:
        """Over one connection, until it is lost or the leader refuses anything."""
        link = await self._directory.leader_link(self._topic, index, self._on_broker_reply)
        try:
            for _ in range(TURNS):
                await asyncio.sleep(self._rng.expovariate(1 / self._pace))
                leader = self._directory.leader(self._topic, index)
                led = [each for each in self._sequences if self._directory.leader(self._topic, each) == leader]
                if not self.stopping:
                    for each in led:
                        self._write(each)
                await self._send(link, [each for each in led if each in self._unacked])
        finally:
            link.close()

    def _write(self, index: int) -> None:
        """What is to be sent next, unless something is on its way."""
        if index not in self._unacked:
            first = self._sequences[index]
            count = self._rng.choice((1, 1, 3))
            values = [f"{self.name}/{index}/{first + each}/".encode() for each in range(count)]
            self._unacked[index] = values
            self._checks.on_sent(self._topic, index, values)

    async def _send(self, link: WireClient, indexes: list[int]) -> None:
        if not indexes:
            return
        parts = [PartitionProduceData(index, memoryview(self._batch(index))) for index in indexes]
        request = ProduceRequest(None, -1, 2000, [TopicProduceData(self._topic, partition_data=parts)])
        answer = await link.ask(request, PRODUCE, ANSWER_SECONDS_MAX)
        codes = {part.index: part.error_code for part in answer.responses[0].partition_responses}
        for index, code in codes.items():
            if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                self._checks.on_forgotten(self._topic, index, self._unacked[index][0])
            elif code == 0:
                self._sequences[index] += len(self._unacked.pop(index))
        if any(codes.values()):
            raise Refusal("not all were taken")

    def _batch(self, index: int) -> bytes:
        stamp = int((WALL_START + self._world.agenda.now) * 1000)
        return build_batch(
            [Record(timestamp=stamp, value=value) for value in self._unacked[index]],
            producer_id=self._identity[0],
            producer_epoch=self._identity[1],
            base_sequence=self._sequences[index],
            codec=self._codec,
        )

    def _on_broker_reply(self, address: str, request: Any, response: Any) -> None:
        sent = {part.index: part.records for part in request.topic_data[0].partition_data}
        for part in response.responses[0].partition_responses:
            if part.error_code == 0:
                self._checks.on_answered(address, "an ack")
                values = [record.value for record in read_records(sent[part.index])]
                self._checks.on_ack(self._topic, part.index, part.base_offset, values)
