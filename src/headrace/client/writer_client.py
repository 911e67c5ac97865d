"""Writing to a cluster without librdkafka: partitions of a topic, sealed batches in, and a word with a coordinator.

Every question is asked again, of the new leader or coordinator, while the broker's answer may pass by waiting and the
deadline allows; a batch that carries a producer's sequence may so be sent twice and is written once. What remains is
raised: `Refused`, or `Disconnected` when nobody answered in time.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient
from headrace.client.cluster_metadata import cluster_metadata
from headrace.client.peer import Address
from headrace.client.retry import insist
from headrace.client.security import Security
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from headrace.wire.messages.offsets import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from headrace.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from headrace.wire.schema import Request, Response

GROUP, TRANSACTION = 0, 1
REQUEST_SECONDS_MAX = 30.0
CREATION_SECONDS_MAX = 3.0
# The last version of Produce that leaves it to the client to say which partitions a transaction has: all brokers know it.
PRODUCE_EXPLICIT = 11

R = TypeVar("R", bound=Response)


class MissingTopic(Exception):
    """No broker has created it either."""


class WriterClient(ClusterClient):
    def __init__(self, bootstrap: str, *, client_id: str, security: Security | None = None) -> None:
        super().__init__(bootstrap, client_id=client_id, security=security)
        self._coordinators: dict[tuple[int, str], Address] = {}

    async def partition_count(self, topic: str, seconds_max: float) -> int:
        """A topic that is not there is created by brokers that do so by themselves; others refuse it."""
        request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
        patience = asyncio.get_running_loop().time() + CREATION_SECONDS_MAX

        async def look() -> int:
            seen = cluster_metadata(await self._ask_any(request, MetadataResponse))
            self._remember(seen)
            found = seen.topics[topic]
            is_missing = found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if is_missing and asyncio.get_running_loop().time() > patience:
                raise MissingTopic(topic)
            _check(found.error_code, topic)
            return len(found.partitions)

        return await insist(look, seconds_max)

    async def producer_id(self, seconds_max: float) -> InitProducerIdResponse:
        """An identity for batches outside of transactions: any broker gives one."""

        async def ask() -> InitProducerIdResponse:
            answer = await self._ask_any(InitProducerIdRequest(None, 0), InitProducerIdResponse)
            _check(answer.error_code, "a producer id")
            return answer

        return await insist(ask, seconds_max)

    async def produce(
        self, id: TopicPartition, batch: memoryview, *, acks: int, transactional_id: str | None, seconds_max: float
    ) -> int:
        """The offset that the batch was given; -1 where that is not known."""
        data = TopicProduceData(name=id.topic, partition_data=[PartitionProduceData(id.partition, batch)])
        request = ProduceRequest(transactional_id, acks, int(REQUEST_SECONDS_MAX * 1000), [data])

        async def send() -> int:
            leader = await self._leader(id)
            answer = await self._peers.ask(
                leader.address, request, ProduceResponse, REQUEST_SECONDS_MAX + 5.0, PRODUCE_EXPLICIT
            )
            (part,) = answer.responses[0].partition_responses
            if part.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                _check(part.error_code, str(id), part.error_message)
            return int(part.base_offset)

        return await insist(send, seconds_max, forget=partial(self._forget, [id]))

    async def delete_records(self, before: Mapping[TopicPartition, int], seconds_max: float) -> None:
        """What is below these offsets."""

        async def delete(id: TopicPartition) -> None:
            wanted = DeleteRecordsTopic(id.topic, [DeleteRecordsPartition(id.partition, before[id])])
            request = DeleteRecordsRequest([wanted], int(REQUEST_SECONDS_MAX * 1000))
            leader = await self._leader(id)
            answer = await self._peers.ask(leader.address, request, DeleteRecordsResponse, REQUEST_SECONDS_MAX + 5.0)
            _check(answer.topics[0].partitions[0].error_code, str(id))

        for id in before:
            await insist(partial(delete, id), seconds_max, forget=partial(self._forget, [id]))

    async def ask_coordinator(
        self,
        kind: int,
        key: str,
        request: Request,
        response: type[R],
        check: Callable[[R], None],
        *,
        version_max: int,
        seconds_max: float,
    ) -> R:
        """`check` raises Refused for a code in the answer; it may be asked again, so the request must bear that."""

        async def ask() -> R:
            address = await self._coordinator(kind, key)
            answer = await self._peers.ask(address, request, response, REQUEST_SECONDS_MAX, version_max)
            check(answer)
            return answer

        return await insist(ask, seconds_max, forget=partial(self._coordinators.pop, (kind, key), None))

    async def _coordinator(self, kind: int, key: str) -> Address:
        if (kind, key) not in self._coordinators:
            reply = await self._ask_any(FindCoordinatorRequest(key, kind, [key]), FindCoordinatorResponse)
            answer: Any = reply.coordinators[0] if reply.coordinators else reply
            _check(answer.error_code, key, answer.error_message)
            self._coordinators[kind, key] = (answer.host, answer.port)
        return self._coordinators[kind, key]


def _check(code: int, about: str, sentence: str | None = None) -> None:
    if code:
        known = CODES[code].message if code in CODES else f"error {code}"
        raise Refused(code, f"{about}: {sentence or known}")
