"""Simulated clients, as real ones behave: they find leaders by metadata, retry what was refused or lost, and write down
what they were told.

    Directory    who leads what, asked of any broker that answers
    Producer     idempotent, a lane per partition, at most five requests in flight, resent in order after any trouble;
                 hears of a new leader at any time, and sends on to it while the one before still owes answers

What reads is in `consumers`.
"""

import asyncio
from collections import deque
from random import Random
from typing import Any

from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.offsets import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.replicas import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.messages.topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from headrace.wire.messages.transactions import InitProducerIdRequest
from headrace.wire.records import Record, build_batch, read_records
from headrace.wire.schema import Request
from sim.checks import Checks
from sim.host import PORT, WALL_START
from sim.loop import HostLoop
from sim.wireclient import Ear, Lost, WireClient
from sim.world import World

IN_FLIGHT_MAX = 5
BACK_OFF_SECONDS = (0.02, 0.25)
ANSWER_SECONDS_MAX = 3.0
LOOKS_AGAIN_SHARE = 0.3
PRODUCE, METADATA, INIT_PRODUCER_ID, CREATE_TOPICS, REASSIGN, ELECT, DELETE_RECORDS = 9, 9, 4, 5, 0, 2, 1


class Refusal(Exception):
    """An error code that a client answers by looking again and trying again."""


class Directory:
    """One client's knowledge of the cluster."""

    def __init__(self, world: World, loop: HostLoop, rng: Random) -> None:
        self.loop = loop
        self.rng = rng
        self._world = world
        self._bootstrap = [(host.address, PORT) for host in world.hosts]
        self._leaders: dict[tuple[str, int], tuple[str, int]] = {}
        self._brokers: dict[int, tuple[str, int]] = {}

    async def any(self) -> WireClient:
        return await WireClient.open(self.loop, self.rng.choice(self._bootstrap))

    async def leader_link(self, topic: str, index: int, ear: Ear | None = None) -> WireClient:
        if (topic, index) not in self._leaders:
            await self.refresh(topic)
        address = self._leaders.get((topic, index))
        if address is None:
            raise Refusal(f"{topic}-{index} has no leader")
        return await WireClient.open(self.loop, address, ear)

    async def link_to(self, broker_id: int) -> WireClient:
        if broker_id not in self._brokers:
            raise Refusal(f"broker {broker_id} is not known")
        return await WireClient.open(self.loop, self._brokers[broker_id])

    def leader(self, topic: str, index: int) -> tuple[str, int] | None:
        return self._leaders.get((topic, index))

    def doubt(self, topic: str, index: int) -> None:
        self._leaders.pop((topic, index), None)

    async def refresh(self, topic: str) -> None:
        link = await self.any()
        try:
            request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
            answer = await link.ask(request, METADATA)
        finally:
            link.close()
        brokers = self._brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
        for found in answer.topics:
            for part in found.partitions:
                if part.leader_id in brokers:
                    self._leaders[topic, part.partition_index] = brokers[part.leader_id]
                else:
                    self.doubt(topic, part.partition_index)

    def say(self, text: str) -> None:
        self._world.say(self.loop.name, text)

    async def back_off(self) -> None:
        await asyncio.sleep(self.rng.uniform(*BACK_OFF_SECONDS))


async def create_topic(directory: Directory, name: str, partitions: int, factor: int, config: dict[str, str]) -> None:
    settings = [CreatableTopicConfig(key, value) for key, value in config.items()]
    request = CreateTopicsRequest([CreatableTopic(name, partitions, factor, [], settings)], timeout_ms=3000)
    while True:
        try:
            link = await directory.any()
            answer = await link.ask(request, CREATE_TOPICS, 5.0)
            link.close()
            code = answer.topics[0].error_code
            if code in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
                return
            directory.say(f"topic {name}: error {code} {answer.topics[0].error_message}")
        except Lost:
            pass
        await directory.back_off()


async def ask_once(directory: Directory, request: Request, version: int) -> None:
    """Of any broker; what it answers, or whether, is all the same."""
    try:
        link = await directory.any()
        await link.ask(request, version, 5.0)
        link.close()
    except Lost:
        pass


async def move_partition(directory: Directory, topic: str, index: int, replicas: list[int] | None) -> None:
    part = ReassignablePartition(index, replicas)
    await ask_once(
        directory, AlterPartitionReassignmentsRequest(3000, topics=[ReassignableTopic(topic, [part])]), REASSIGN
    )


async def delete_records(directory: Directory, topic: str, index: int, before: int) -> None:
    part = DeleteRecordsPartition(index, before)
    try:
        link = await directory.leader_link(topic, index)
        await link.ask(DeleteRecordsRequest([DeleteRecordsTopic(topic, [part])], 3000), DELETE_RECORDS, 5.0)
        link.close()
    except (Lost, Refusal):
        pass


async def elect_preferred(directory: Directory) -> None:
    await ask_once(directory, ElectLeadersRequest(0, None, 3000), ELECT)


async def new_producer(directory: Directory, checks: Checks) -> tuple[int, int]:
    """A producer id that nobody has, and its epoch."""
    while True:
        try:
            link = await directory.any()
            answer = await link.ask(InitProducerIdRequest(), INIT_PRODUCER_ID)
            link.close()
            if answer.error_code == 0:
                checks.on_producer_id(answer.producer_id)
                return answer.producer_id, answer.producer_epoch
        except Lost:
            pass
        await directory.back_off()


class Batch:
    __slots__ = ("sequence", "values")

    def __init__(self, sequence: int, values: list[bytes]) -> None:
        self.sequence = sequence
        self.values = values


class Producer:
    def __init__(
        self, world: World, checks: Checks, number: int, topic: str, partitions: int, pace: float, acks: int = -1
    ) -> None:
        self.name = f"p{number}"
        self.acks = acks
        self.topic = topic
        self.is_done = False
        self.stopping = False
        self.rng = world.rng(f"producer {number}")
        self.loop = world.client_loop(f"producer {number}")
        self.directory = Directory(world, self.loop, self.rng)
        self.world = world
        self.checks = checks
        self.pace = pace
        self.producer_id = -1
        self.producer_epoch = -1
        self.partitions = partitions
        self.codec = self.rng.randrange(5)
        world.spawn(self.loop, self._run())

    async def _run(self) -> None:
        self.producer_id, self.producer_epoch = await new_producer(self.directory, self.checks)
        await self._write()
        self.is_done = True

    async def _write(self) -> None:
        lanes = [self.world.spawn(self.loop, Lane(self, index).run()) for index in range(self.partitions)]
        for lane in lanes:
            await lane


class Lane:
    """One partition's batches in their order: what is not acknowledged is sent again from the oldest on."""

    def __init__(self, producer: Producer, index: int) -> None:
        self._producer = producer
        self._index = index
        self._sequence = 0
        self._count = 0
        self._unacked: deque[Batch] = deque()
        self._due = 0.0

    async def run(self) -> None:
        producer = self._producer
        while self._unacked or not producer.stopping:
            links: list[WireClient] = []
            try:
                await self._connect(links)
                await self._pump(links)
            except (Lost, Refusal):
                producer.directory.doubt(producer.topic, self._index)
                await producer.directory.back_off()
            finally:
                for link in links:
                    link.close()

    async def _connect(self, links: list[WireClient]) -> None:
        producer = self._producer
        links.append(await producer.directory.leader_link(producer.topic, self._index, self._on_broker_reply))

    async def _pump(self, links: list[WireClient]) -> None:
        """What is new goes to the last of the links; the others still owe answers."""
        producer = self._producer
        in_flight: deque[tuple[Batch, WireClient, asyncio.Future[Any]]] = deque()
        resend = iter(list(self._unacked))
        while not links[-1].is_lost:
            link = links[-1]
            # Who has heard of a refusal sends nothing behind it, though a batch before it is still on its way.
            is_free = len(in_flight) < IN_FLIGHT_MAX and not any(_is_refused(future) for _, _, future in in_flight)
            while is_free and (batch := next(resend, None) or self._fresh()) is not None:
                in_flight.append((batch, link, link.send(self._request(batch), PRODUCE)))
                is_free = len(in_flight) < IN_FLIGHT_MAX
            if in_flight:
                await self._look_again(links)
                if is_free and not producer.stopping:
                    await asyncio.wait([in_flight[0][2]], timeout=max(0.001, self._due - producer.loop.time()))
                    if not in_flight[0][2].done():
                        continue
                batch, link, future = in_flight.popleft()
                refusal = self._on_answer(batch, await link.until_answered(future, ANSWER_SECONDS_MAX))
                if refusal is not None:
                    # As real clients do: what is on its way is waited for before anything is sent again.
                    for _, link, future in in_flight:
                        await link.until_answered(future, ANSWER_SECONDS_MAX)
                    raise refusal
            elif producer.stopping:
                return
            else:
                await asyncio.sleep(max(0.001, self._due - producer.loop.time()))
        raise Lost("closed")

    async def _look_again(self, links: list[WireClient]) -> None:
        producer, directory = self._producer, self._producer.directory
        if producer.rng.random() < LOOKS_AGAIN_SHARE:
            await directory.refresh(producer.topic)
            leader = directory.leader(producer.topic, self._index)
            if leader not in (links[-1].address, None):
                await self._turn_to(leader, links)

    async def _turn_to(self, leader: tuple[str, int] | None, links: list[WireClient]) -> None:
        """One connection to a broker: on a second one, what is sent later might arrive first."""
        open_link = next((link for link in links if link.address == leader and not link.is_lost), None)
        if open_link is None:
            await self._connect(links)
        else:
            links.remove(open_link)
            links.append(open_link)

    def _fresh(self) -> Batch | None:
        producer = self._producer
        now = producer.loop.time()
        if producer.stopping or now < self._due or len(self._unacked) >= IN_FLIGHT_MAX:
            return None
        self._due = now + producer.rng.expovariate(1 / producer.pace)
        batch = Batch(self._sequence, [self._value() for _ in range(producer.rng.choice((1, 1, 2, 5)))])
        self._sequence += len(batch.values)
        self._unacked.append(batch)
        producer.checks.on_sent(producer.topic, self._index, batch.values)
        return batch

    def _value(self) -> bytes:
        """Names itself; some are longer than a sector, so that a torn write can tear it."""
        producer = self._producer
        self._count += 1
        name = f"{producer.name}/{self._index}/{self._count}/"
        return name.encode().ljust(producer.rng.choice((20, 20, 200, 1500)), b".")

    def _request(self, batch: Batch) -> ProduceRequest:
        producer = self._producer
        stamp = int((WALL_START + producer.world.agenda.now) * 1000)
        records = build_batch(
            [Record(timestamp=stamp, value=value) for value in batch.values],
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=batch.sequence,
            codec=producer.codec,
        )
        part = PartitionProduceData(self._index, memoryview(records))
        return ProduceRequest(None, producer.acks, 2000, [TopicProduceData(producer.topic, partition_data=[part])])

    def _on_broker_reply(self, address: str, request: Any, response: Any) -> None:
        """The broker has just written this: an ack must be true now."""
        part = response.responses[0].partition_responses[0]
        if part.error_code == 0:
            self._producer.checks.on_answered(address, "an ack")
            sent = request.topic_data[0].partition_data[0].records
            values = [record.value for record in read_records(sent)]
            self._producer.checks.on_ack(self._producer.topic, self._index, part.base_offset, values)
        elif part.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and self._is_unacked(request):
            self._producer.checks.on_gap(self._producer.topic, self._index, address)

    def _is_unacked(self, request: Any) -> bool:
        """What came by a connection that the client gave up, and was acked by the next, is older than what followed it."""
        sequence = parse_header(request.topic_data[0].partition_data[0].records).base_sequence
        return any(batch.sequence == sequence for batch in self._unacked)

    def _on_answer(self, batch: Batch, response: Any) -> Refusal | None:
        part = response.responses[0].partition_responses[0]
        if part.error_code == 0:
            assert self._unacked[0] is batch, "answers come in order"
            self._unacked.popleft()
            return None
        if part.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and self._unacked[0] is batch:
            # Nothing before it is unanswered, so the broker has forgotten a batch that it acknowledged.
            self._producer.checks.on_forgotten(self._producer.topic, self._index, batch.values[0])
        return Refusal(f"error {part.error_code}")


def _is_refused(future: asyncio.Future[Any]) -> bool:
    if not future.done() or future.cancelled() or future.exception() is not None:
        return False
    return bool(future.result().responses[0].partition_responses[0].error_code)
