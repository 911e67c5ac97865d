"""Writing to a cluster without librdkafka: partitions of a topic, sealed batches in, records below an offset deleted.

A batch may be sent twice, to an old leader and a new one; if it carries a producer's sequence it is written once.
"""

import asyncio
from collections.abc import Mapping
from functools import partial

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient
from headrace.client.kafka_cluster import CLUSTER_REQUEST_SECONDS_MAX, MissingTopic, check
from headrace.client.peer import Address
from headrace.client.retry import insist
from headrace.wire.batch import Identity
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.offsets import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from headrace.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headrace.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse

CREATION_SECONDS_MAX = 3.0
# Brokers end a request in time; this is for those that cannot even do that.
GRACE_SECONDS = 5.0
# The last version of Produce that leaves it to the client to say which partitions a transaction has: all brokers know it.
PRODUCE_EXPLICIT = 11


class WriterClient(ClusterClient):
    async def partition_count(self, topic: str, seconds_max: float) -> int:
        """The number of partitions of a topic; brokers that create topics by themselves create it."""
        patience = asyncio.get_running_loop().time() + CREATION_SECONDS_MAX

        async def look() -> int:
            found = (await self.metadata([topic], may_create=True)).topics[topic]
            is_missing = found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if is_missing and asyncio.get_running_loop().time() > patience:
                raise MissingTopic(topic)
            check(found.error_code, topic)
            return len(found.partitions)

        return await insist(look, seconds_max)

    async def producer_id(self, seconds_max: float) -> Identity:
        """A producer id for batches outside of transactions: any broker gives one."""

        async def ask() -> Identity:
            answer = await self.ask_any(InitProducerIdRequest(None, 0), InitProducerIdResponse)
            check(answer.error_code, "a producer id")
            return Identity(answer.producer_id, answer.producer_epoch)

        return await insist(ask, seconds_max)

    async def produce(
        self, id: TopicPartition, batch: memoryview, *, acks: int, transactional_id: str | None, seconds_max: float
    ) -> int:
        """The offset that the batch was given; -1 where that is not known."""
        request = _produce_request(id.topic, {id.partition: batch}, acks, CLUSTER_REQUEST_SECONDS_MAX, transactional_id)

        async def send() -> int:
            leader = await self.leader(id)
            seconds = CLUSTER_REQUEST_SECONDS_MAX + GRACE_SECONDS
            answer = await self._peers.ask(leader.address, request, ProduceResponse, seconds, PRODUCE_EXPLICIT)
            (part,) = answer.responses[0].partition_responses
            if part.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                check(part.error_code, str(id), part.error_message)
            return int(part.base_offset)

        return await insist(send, seconds_max, forget=partial(self.forget_leaders, [id]))

    async def produce_once(
        self, leader: Address, topic: str, batches: Mapping[int, memoryview], acks: int, seconds_max: float
    ) -> dict[int, PartitionProduceResponse]:
        """One batch for each of these partitions. On a connection of its own, so that no topic waits for another."""
        request = _produce_request(topic, batches, acks, seconds_max)
        seconds = seconds_max + GRACE_SECONDS
        answer = await self._peers.poll(leader, request, ProduceResponse, seconds, PRODUCE_EXPLICIT)
        return {each.index: each for part in answer.responses for each in part.partition_responses}

    async def delete_records(self, before: Mapping[TopicPartition, int], seconds_max: float) -> None:
        """Deletes the records below these offsets."""

        async def delete(id: TopicPartition) -> None:
            wanted = DeleteRecordsTopic(id.topic, [DeleteRecordsPartition(id.partition, before[id])])
            request = DeleteRecordsRequest([wanted], int(CLUSTER_REQUEST_SECONDS_MAX * 1000))
            leader = await self.leader(id)
            seconds = CLUSTER_REQUEST_SECONDS_MAX + GRACE_SECONDS
            answer = await self._peers.ask(leader.address, request, DeleteRecordsResponse, seconds)
            check(answer.topics[0].partitions[0].error_code, str(id))

        for id in before:
            await insist(partial(delete, id), seconds_max, forget=partial(self.forget_leaders, [id]))


def _produce_request(
    topic: str, batches: Mapping[int, memoryview], acks: int, seconds_max: float, transactional_id: str | None = None
) -> ProduceRequest:
    data = [PartitionProduceData(partition, batch) for partition, batch in batches.items()]
    return ProduceRequest(
        transactional_id, acks, int(seconds_max * 1000), [TopicProduceData(name=topic, partition_data=data)]
    )
