"""Reading from a cluster without a consumer: offsets, and record batches straight from partition leaders.

    client = ClusterClient("127.0.0.1:9092", client_id="reader")
    fetched = await client.fetch(TopicPartition("orders", 0), offset=0)

A question goes on to the new leader until its deadline. Batches are returned as they are stored: opening them, skipping
aborted ones and those before the offset asked for, is the reader's (`headrace.wire.records`, or `headrace.spark` for many
at once).
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from struct import Struct
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.connection import Disconnected
from headrace.client.kafka_cluster import KafkaCluster, NoSuchPartition, check
from headrace.client.peer import Address
from headrace.client.retry import insist, may_pass
from headrace.wire.batch import HEADER, HEADER_SIZE, LENGTH_END, BatchHeader
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from headrace.wire.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

EARLIEST, LATEST = -2, -1
LEADER_SECONDS_MAX = 30.0
# The last version that names topics: one request then says all that is needed.
FETCH_BY_NAME = 12
_CONSUMER = -1
_LENGTH = Struct(">i")


class OffsetAt(NamedTuple):
    offset: int
    timestamp: int
    """Both -1 when no record is that late."""


class AbortedRecords(NamedTuple):
    producer_id: int
    first_offset: int


class Fetched(NamedTuple):
    batches: memoryview
    """Whole batches in order of offset; the first may begin before the offset asked for."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[AbortedRecords, ...]
    next_offset: int
    """Where to go on: behind the last batch."""


class ClusterClient(KafkaCluster):
    # -- offsets ------------------------------------------------------------------------------------------------------

    async def offsets(
        self, at: Mapping[TopicPartition, int], *, read_committed: bool = True, seconds_max: float = LEADER_SECONDS_MAX
    ) -> dict[TopicPartition, OffsetAt]:
        """EARLIEST, LATEST, or a time in ms: the first offset at or after it. To a read_committed reader the latest
        offset is where the first open transaction begins."""
        found: dict[TopicPartition, OffsetAt] = {}

        async def ask_missing() -> None:
            by_leader: defaultdict[Address, dict[TopicPartition, int]] = defaultdict(dict)
            for id in at.keys() - found.keys():
                by_leader[(await self.leader(id)).address][id] = at[id]
            for address, wanted in by_leader.items():
                await self._list_offsets(address, wanted, read_committed, found)

        def forget() -> None:
            self.forget_leaders(at.keys() - found.keys())

        await insist(ask_missing, seconds_max, passes=_may_pass_reading, forget=forget)
        return {id: found[id] for id in at}

    async def _list_offsets(
        self,
        address: Address,
        wanted: Mapping[TopicPartition, int],
        read_committed: bool,
        found: dict[TopicPartition, OffsetAt],
    ) -> None:
        request = offsets_request(wanted, read_committed=read_committed)
        answered = offsets_in(await self._peers.ask(address, request, ListOffsetsResponse))
        found.update((id, at) for id, at in answered.items() if isinstance(at, OffsetAt))
        for id, code in answered.items():
            if not isinstance(code, OffsetAt):
                check(code, str(id))

    # -- records ------------------------------------------------------------------------------------------------------

    async def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        *,
        bytes_max: int = 1 << 20,
        wait_ms: int = 500,
        bytes_min: int = 1,
        read_committed: bool = True,
        seconds_max: float = LEADER_SECONDS_MAX,
    ) -> Fetched:
        """Batches from this offset on: at least one if there is any, however large; none after `wait_ms` without."""
        asked = FetchPartition(partition.partition, fetch_offset=offset, partition_max_bytes=bytes_max)
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=bytes_min,
            max_bytes=bytes_max,
            isolation_level=int(read_committed),
            topics=[FetchTopic(topic=partition.topic, partitions=[asked])],
        )

        async def ask_leader() -> PartitionData:
            leader = await self.leader(partition)
            asked.current_leader_epoch = leader.epoch
            seconds = seconds_max + wait_ms / 1000
            answer = await self._peers.poll(leader.address, request, FetchResponse, seconds, FETCH_BY_NAME)
            check(answer.error_code, str(partition))
            (part,) = answer.responses[0].partitions
            check(part.error_code, f"{partition}, offset {offset}")
            return part

        forget = partial(self.forget_leaders, [partition])
        part = await insist(ask_leader, seconds_max, passes=_may_pass_reading, forget=forget)
        aborted = [AbortedRecords(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
        batches, last = whole_batches(memoryview(part.records or b""))
        return Fetched(
            batches,
            part.high_watermark,
            part.last_stable_offset,
            part.log_start_offset,
            tuple(sorted(aborted, key=lambda each: each.first_offset)),
            _next_offset(batches, last) if batches else offset,
        )


def offsets_request(wanted: Mapping[TopicPartition, int], *, read_committed: bool) -> ListOffsetsRequest:
    """A request for the leader of all of these; each with EARLIEST, LATEST, or a time in ms."""
    topics: dict[str, ListOffsetsTopic] = {}
    for (topic, index), when in wanted.items():
        asked = ListOffsetsPartition(index, timestamp=when)
        topics.setdefault(topic, ListOffsetsTopic(topic, [])).partitions.append(asked)
    return ListOffsetsRequest(_CONSUMER, int(read_committed), list(topics.values()), int(LEADER_SECONDS_MAX * 1000))


def offsets_in(answer: ListOffsetsResponse) -> dict[TopicPartition, OffsetAt | int]:
    """The offset of each partition, or Kafka's code for a refusal."""
    return {
        TopicPartition(topic.name, part.partition_index): part.error_code or OffsetAt(part.offset, part.timestamp)
        for topic in answer.topics
        for part in topic.partitions
    }


def whole_batches(data: memoryview) -> tuple[memoryview, int]:
    """The whole batches of a reply, without one that the broker cut off to keep within the bytes asked for; and where
    the last one begins.
    """
    end = last = 0
    while len(data) - end >= HEADER_SIZE:
        (length,) = _LENGTH.unpack_from(data, end + LENGTH_END - _LENGTH.size)
        if length < HEADER_SIZE - LENGTH_END:
            # Damage is for the reader to report, with its offset.
            return data, last
        if length > len(data) - end - LENGTH_END:
            break
        last = end
        end += LENGTH_END + length
    return data[:end], last


def _next_offset(batches: memoryview, last: int) -> int:
    # Not `parse_header`: a damaged one is not for us to judge.
    return BatchHeader(*HEADER.unpack_from(batches, last)).next_offset


def _may_pass_reading(error: Refused | Disconnected) -> bool:
    if isinstance(error, NoSuchPartition):
        return False
    # Retriable for a producer, whose batch may have been damaged on its way; one in the log stays as it is.
    is_damaged = isinstance(error, Refused) and error.code == ErrorCode.CORRUPT_MESSAGE
    return not is_damaged and may_pass(error)
