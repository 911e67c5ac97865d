"""The cluster's side of producing: how many partitions a topic has, who leads them, who we are, and Produce itself."""

import time
from collections.abc import Mapping

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient
from headrace.client.peer import Address
from headrace.client.retry import insist, may_pass
from headrace.client.security import Security
from headrace.wire.batch import Identity
from headrace.wire.codes import CODES
from headrace.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headrace.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse

# How long more partitions may take to be noticed.
KNOWN_SECONDS = 30.0
# A topic that was made a moment ago may be news to the broker that we ask.
NEWS_SECONDS_MAX = 5.0
# Brokers end a request in time; this is for those that cannot even do that.
GRACE_SECONDS = 5.0
# The last version that names topics.
PRODUCE_BY_NAME = 12


class Leaders(ClusterClient):
    def __init__(self, bootstrap: str, *, client_id: str, security: Security | None = None) -> None:
        super().__init__(bootstrap, client_id=client_id, security=security)
        self._counts: dict[str, tuple[int, float]] = {}

    async def partition_count(self, topic: str) -> int:
        """Refused if there is no such topic."""
        count, until = self._counts.get(topic, (0, 0.0))
        return count if time.monotonic() < until else await self.look(topic, NEWS_SECONDS_MAX)

    async def look(self, topic: str, seconds_max: float) -> int:
        async def ask() -> int:
            found = (await self.metadata([topic])).topics[topic]
            if found.error_code:
                self._counts.pop(topic, None)
                raise Refused(found.error_code, f"{topic}: {CODES[found.error_code].message}")
            self._counts[topic] = len(found.partitions), time.monotonic() + KNOWN_SECONDS
            return len(found.partitions)

        return await insist(ask, seconds_max, passes=lambda error: isinstance(error, Refused) and may_pass(error))

    def known(self, id: TopicPartition) -> Address | None:
        leader = self._leaders.get(id)
        return leader.address if leader is not None else None

    def forget(self, id: TopicPartition) -> None:
        self._leaders.pop(id, None)

    async def identity(self) -> Identity:
        answer = await self._ask_any(InitProducerIdRequest(None, 0), InitProducerIdResponse)
        if answer.error_code:
            raise Refused(answer.error_code, "no producer id")
        return Identity(answer.producer_id, answer.producer_epoch)

    async def produce(
        self, leader: Address, topic: str, batches: Mapping[int, bytearray], acks: int, seconds_max: float
    ) -> dict[int, PartitionProduceResponse]:
        """One batch for each of these partitions. On a connection of its own, so that no topic waits for another."""
        data = [PartitionProduceData(partition, memoryview(batch)) for partition, batch in batches.items()]
        request = ProduceRequest(
            None, acks, int(seconds_max * 1000), [TopicProduceData(name=topic, partition_data=data)]
        )
        answer = await self._peers.poll(leader, request, ProduceResponse, seconds_max + GRACE_SECONDS, PRODUCE_BY_NAME)
        return {each.index: each for part in answer.responses for each in part.partition_responses}
