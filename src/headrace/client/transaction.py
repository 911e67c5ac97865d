"""A Kafka transaction that also stores a number, the mark of the piece of work that it holds; so the work is done once.

    begin             a new epoch for the transactional id: an older attempt can write no more, and what it left open has
                      been ended
    last_mark         the number stored by the last transaction that was committed
    include           before the first record in a partition; from the first on, the number is stored beside the records,
                      as a group's offset
    commit            records and number count, both or neither

The transactional id and the group are the same name, which outlives the process. The requests are those of clients before
Kafka 4, which every broker understands.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.connection import Disconnected
from headrace.client.kafka_cluster import GROUP, TRANSACTION, KafkaCluster, check
from headrace.wire.messages.group_offsets import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from headrace.wire.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

NO_MARK = -1
ABORT_SECONDS_MAX = 10.0
# Later versions let brokers add partitions by themselves and raise the epoch at every end.
_INIT, _ADD, _ADD_OFFSETS, _COMMIT_OFFSETS, _END, _FETCH_BY_NAME = 4, 3, 3, 4, 4, 9


class BatchTransaction:
    def __init__(self, client: KafkaCluster, name: str, timeout_ms: int, seconds_max: float, note: str) -> None:
        """`note` stands beside the number, for who looks at the group."""
        self.name = name
        self.producer_id, self.producer_epoch = -1, -1
        self._client = client
        self._timeout_ms = timeout_ms
        self._note = note
        self._seconds_max = seconds_max
        self._included: set[TopicPartition] = set()
        self._wanted: set[TopicPartition] = set()
        # One question at a time about what the transaction has: Kafka sends a second one away for a while.
        self._including = asyncio.Lock()
        self._mark = NO_MARK
        self._storing: asyncio.Task[None] | None = None

    async def begin(self, mark: int) -> None:
        self._mark = mark
        request = InitProducerIdRequest(self.name, self._timeout_ms)
        answer: InitProducerIdResponse = await self._ask(request, InitProducerIdResponse, _INIT)
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch

    async def last_mark(self) -> int:
        """The number of the last transaction, under whichever topic it was stored: each may write to other ones."""
        request = OffsetFetchRequest(
            group_id=self.name,
            topics=None,
            groups=[OffsetFetchRequestGroup(self.name, topics=None)],
            require_stable=True,
        )
        answer = await self._client.ask_coordinator(
            GROUP,
            self.name,
            request,
            OffsetFetchResponse,
            lambda answer: _check_all(_fetched_codes(answer), self.name),
            version_max=_FETCH_BY_NAME,
            seconds_max=self._seconds_max,
        )
        stored = [part.committed_offset for topic in _fetched_topics(answer) for part in topic.partitions]
        return max(stored, default=NO_MARK)

    async def include(self, id: TopicPartition) -> None:
        if id in self._included:
            return
        self._wanted.add(id)
        async with self._including:
            # Whoever was before us has asked for all that were wanted by then.
            if id not in self._included:
                wanted = self._wanted - self._included
                await self._add_partitions(wanted)
                self._included |= wanted
                if self._storing is None:
                    self._storing = asyncio.create_task(self._store(id.topic))

    async def _add_partitions(self, ids: Iterable[TopicPartition]) -> None:
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for id in sorted(ids):
            topics.setdefault(id.topic, AddPartitionsToTxnTopic(id.topic, [])).partitions.append(id.partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=list(topics.values()),
        )
        await self._ask(request, AddPartitionsToTxnResponse, _ADD)

    async def commit(self) -> None:
        assert self._storing is not None, "a transaction without records"
        await self._storing
        await self._end(committed=True)

    async def _store(self, topic: str) -> None:
        async with self._including:
            await self._ask(
                AddOffsetsToTxnRequest(self.name, self.producer_id, self.producer_epoch, self.name),
                AddOffsetsToTxnResponse,
                _ADD_OFFSETS,
            )
        stored = TxnOffsetCommitRequestPartition(0, self._mark, committed_metadata=self._note)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(topic, [stored])],
        )
        await self._client.ask_coordinator(
            GROUP,
            self.name,
            request,
            TxnOffsetCommitResponse,
            lambda answer: _check_all(
                [part.error_code for each in answer.topics for part in each.partitions], self.name
            ),
            version_max=_COMMIT_OFFSETS,
            seconds_max=self._seconds_max,
        )

    async def abort(self) -> None:
        """Tries to abort: a transaction left open is ended by the next one of this id, or by its time-out."""
        if self._storing is not None:
            self._seconds_max = min(self._seconds_max, ABORT_SECONDS_MAX)
            # A number that arrives after the end would open the transaction again, on brokers that do not look.
            await asyncio.wait([self._storing], timeout=ABORT_SECONDS_MAX)
            if self._storing.done():
                self._storing.exception()
                with suppress(Refused, Disconnected):
                    await self._end(committed=False)

    async def _end(self, *, committed: bool) -> None:
        request = EndTxnRequest(self.name, self.producer_id, self.producer_epoch, committed)
        await self._ask(request, EndTxnResponse, _END)

    async def _ask(self, request: Any, response: Any, version_max: int) -> Any:
        return await self._client.ask_coordinator(
            TRANSACTION,
            self.name,
            request,
            response,
            lambda answer: _check_all(_codes(answer), self.name),
            version_max=version_max,
            seconds_max=self._seconds_max,
        )


def _codes(answer: Any) -> list[int]:
    if isinstance(answer, AddPartitionsToTxnResponse):
        topics = answer.results_by_topic_v3_and_below
        return [part.partition_error_code for topic in topics for part in topic.results_by_partition]
    return [answer.error_code]


def _fetched_topics(answer: OffsetFetchResponse) -> list[Any]:
    return list(answer.groups[0].topics if answer.groups else answer.topics)


def _fetched_codes(answer: OffsetFetchResponse) -> list[int]:
    whole = answer.groups[0].error_code if answer.groups else answer.error_code
    return [whole, *(part.error_code for topic in _fetched_topics(answer) for part in topic.partitions)]


def _check_all(codes: Iterable[int], about: str) -> None:
    for code in codes:
        check(code, about)
