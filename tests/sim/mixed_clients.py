"""Producers that are not the careful one of `clients`, as real programs bring them along.

BulkProducer        not idempotent, acks of 0, 1 or all; one request for all partitions of a leader; whatever is in doubt is
                    given up. An ack of 1 must be true on the leader's disk when it leaves, and promises no more
ImpatientProducer   idempotent; gives up what takes longer than its delivery time-out, asks for the next epoch of its
                    id (KIP-360) and goes on with sequence 0
"""

import asyncio
from typing import Any

from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.transactions import InitProducerIdRequest
from headrace.wire.records import Record, build_batch, read_records
from sim.checks import UNORDERED, Checks
from sim.clients import ANSWER_SECONDS_MAX, INIT_PRODUCER_ID, PRODUCE, Directory, Lane, Producer, Refusal
from sim.host import WALL_START
from sim.wireclient import Lost, WireClient
from sim.world import World

ALL, LEADER, NOBODY = -1, 1, 0
DELIVERY_SECONDS_MAX = 1.5
LOOK_SECONDS = 0.2


class BulkProducer:
    def __init__(self, world: World, checks: Checks, number: int, topic: str, partitions: int, pace: float) -> None:
        self.name = f"{UNORDERED.decode()}{number}"
        self.is_done = False
        self.stopping = False
        self._world = world
        self._checks = checks
        self._topic = topic
        self._partitions = partitions
        self._pace = pace
        self._rng = world.rng(f"producer {self.name}")
        self._loop = world.client_loop(f"producer {self.name}")
        self._directory = Directory(world, self._loop, self._rng)
        self._count = 0
        world.spawn(self._loop, self._run())

    async def _run(self) -> None:
        while not self.stopping:
            try:
                await self._send_some()
            except (Lost, Refusal):
                self._directory.doubt(self._topic, 0)
                await self._directory.back_off()
        self.is_done = True

    async def _send_some(self) -> None:
        """To one leader, over one connection, until it is lost or refuses."""
        acks = self._rng.choice((ALL, LEADER, NOBODY))
        link = await self._directory.leader_link(self._topic, 0, self._on_broker_reply)
        try:
            for _ in range(self._rng.randrange(2, 12)):
                await asyncio.sleep(self._rng.expovariate(1 / self._pace))
                if self.stopping:
                    return
                await self._send(link, acks)
        finally:
            link.close()

    async def _send(self, link: WireClient, acks: int) -> None:
        leader = self._directory.leader(self._topic, 0)
        led = [each for each in range(self._partitions) if self._directory.leader(self._topic, each) == leader]
        parts = [PartitionProduceData(index, memoryview(self._batch(index))) for index in led or [0]]
        request = ProduceRequest(None, acks, 2000, [TopicProduceData(self._topic, partition_data=parts)])
        if acks == NOBODY:
            link.tell(request, PRODUCE)
            return
        answer = await link.ask(request, PRODUCE, ANSWER_SECONDS_MAX)
        if any(part.error_code for part in answer.responses[0].partition_responses):
            raise Refusal("not all were taken")

    def _batch(self, index: int) -> bytes:
        values = []
        for _ in range(self._rng.choice((1, 3))):
            self._count += 1
            values.append(f"{self.name}/{index}/{self._count}/".encode().ljust(self._rng.choice((20, 200)), b"."))
        self._checks.on_sent(self._topic, index, values)
        stamp = int((WALL_START + self._world.agenda.now) * 1000)
        codec = self._rng.randrange(5)
        return build_batch([Record(timestamp=stamp, value=value) for value in values], codec=codec)

    def _on_broker_reply(self, address: str, request: Any, response: Any) -> None:
        sent = {part.index: part.records for part in request.topic_data[0].partition_data}
        for part in response.responses[0].partition_responses:
            if part.error_code == 0:
                self._checks.on_answered(address, "an ack")
                values = [record.value for record in read_records(sent[part.index])]
                if request.acks == ALL:
                    self._checks.on_ack(self._topic, part.index, part.base_offset, values)
                else:
                    self._checks.on_leader_ack(address, self._topic, part.index, part.base_offset + len(values))


class ImpatientProducer(Producer):
    async def _write(self) -> None:
        lanes = [ImpatientLane(self, index) for index in range(self.partitions)]
        while True:
            tasks = [self.world.spawn(self.loop, lane.run()) for lane in lanes]
            while not all(task.done() for task in tasks) and not any(lane.is_late for lane in lanes):
                await asyncio.wait(tasks, timeout=LOOK_SECONDS, return_when=asyncio.ALL_COMPLETED)
            if all(task.done() for task in tasks):
                return
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self.directory.say(f"gives up {sum(lane.give_up() for lane in lanes)} batches")
            await self._bump_epoch()

    async def _bump_epoch(self) -> None:
        while True:
            request = InitProducerIdRequest(None, 0, self.producer_id, self.producer_epoch)
            try:
                link = await self.directory.any()
                answer = await link.ask(request, INIT_PRODUCER_ID)
                link.close()
                if answer.error_code == 0:
                    before = self.producer_id, self.producer_epoch
                    self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
                    self.checks.on_next_epoch(before, (self.producer_id, self.producer_epoch))
                    if self.producer_id != before[0]:
                        # Nothing holds back what the old id has on its way: order is promised for each id alone.
                        self.name = f"{self.name.partition('.')[0]}.{self.producer_id}"
                    return
            except Lost:
                pass
            await self.directory.back_off()


class ImpatientLane(Lane):
    _since = 0.0

    def _fresh(self) -> Any:
        if not self._unacked:
            self._since = self._producer.loop.time()
        return super()._fresh()

    def _on_answer(self, batch: Any, response: Any) -> Any:
        self._since = self._producer.loop.time()
        return super()._on_answer(batch, response)

    @property
    def is_late(self) -> bool:
        return bool(self._unacked) and self._producer.loop.time() - self._since > DELIVERY_SECONDS_MAX

    def give_up(self) -> int:
        """What was on its way may be stored, or not: nobody will know."""
        given_up = len(self._unacked)
        self._unacked.clear()
        self._sequence = 0
        return given_up
