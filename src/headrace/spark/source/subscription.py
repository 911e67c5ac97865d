"""Partitions that a query reads, and between which offsets: the options' words turned into numbers by asking a cluster."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient
from headrace.spark.clients import client_of
from headrace.spark.source.offsets import Offsets
from headrace.spark.source.options import Bound, SourceOptions
from headrace.wire.codes import CODES, ErrorCode


class Subscribed(NamedTuple):
    cluster_id: str
    partitions: list[TopicPartition]


async def find_partitions(options: SourceOptions) -> Subscribed:
    """UserError when a topic or partition that is named does not exist; a pattern may match nothing yet."""
    client = client_of(options, ClusterClient)
    if options.pattern:
        return await _matching(client, options.pattern)
    topics = options.topics or tuple({id.topic: None for id in options.partitions})
    seen = await client.metadata(topics)
    for topic in topics:
        code = seen.topics[topic].error_code
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise UserError(f"topic {topic} does not exist", f"create it: headrace topic create {topic}")
        if code:
            raise Refused(code, f"{topic}: {CODES[code].message if code in CODES else code}")
    there = [TopicPartition(topic, index) for topic in topics for index in seen.topics[topic].partitions]
    for id in options.partitions:
        if id not in there:
            count = len(seen.topics[id.topic].partitions)
            raise UserError(f"{id} does not exist: the topic has {count} partitions", "look at assign")
    return Subscribed(seen.cluster_id, sorted(options.partitions or there))


async def _matching(client: ClusterClient, pattern: str) -> Subscribed:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UserError(f"subscribePattern={pattern} is not an expression: {error}", "for example orders-.*") from error
    seen = await client.metadata()
    topics = [topic for topic in seen.topics.values() if not topic.is_internal and expression.fullmatch(topic.name)]
    return Subscribed(
        seen.cluster_id, sorted(TopicPartition(topic.name, i) for topic in topics for i in topic.partitions)
    )


async def offsets_at(options: SourceOptions, ids: Iterable[TopicPartition], where: int) -> Offsets:
    """EARLIEST or LATEST of each."""
    found = await client_of(options, ClusterClient).offsets(
        dict.fromkeys(ids, where), read_committed=options.read_committed
    )
    return {id: at.offset for id, at in found.items()}


class PlanOffsets:
    """Offsets of a plan's partitions, asked for once for each kind: EARLIEST, LATEST, or a time in ms."""

    def __init__(self, options: SourceOptions, ids: Collection[TopicPartition]) -> None:
        self.options = options
        self.ids = ids
        self._known: dict[int, Offsets] = {}

    async def at(self, where: int) -> Offsets:
        """A negative offset where there is no record that late."""
        if where not in self._known:
            self._known[where] = await offsets_at(self.options, self.ids, where)
        return self._known[where]

    async def starting(self) -> Offsets:
        wanted = _asked_of_each(self.options.starting, self.ids, "startingOffsets")
        if not self.options.starting.is_time:
            return await self._resolved(wanted)
        starts = await self._at_times(self.options.starting, wanted)
        late = [id for id in self.ids if starts[id] < 0]
        if late and not self.options.is_late_start_allowed:
            raise UserError(
                f"{late[0]} has no record at or after {wanted[late[0]]}",
                "choose an earlier time, or set startingOffsetsByTimestampStrategy=latest",
            )
        return await self._or_latest(starts)

    async def ending(self) -> Offsets:
        wanted = _asked_of_each(self.options.ending, self.ids, "endingOffsets")
        if not self.options.ending.is_time:
            return await self._resolved(wanted)
        return await self._or_latest(await self._at_times(self.options.ending, wanted))

    async def _at_times(self, bound: Bound, wanted: Mapping[TopicPartition, int]) -> Offsets:
        if bound.everywhere is not None:
            return await self.at(bound.everywhere)
        found = await client_of(self.options, ClusterClient).offsets(wanted, read_committed=self.options.read_committed)
        return {id: at.offset for id, at in found.items()}

    async def _or_latest(self, offsets: Offsets) -> Offsets:
        if all(offset >= 0 for offset in offsets.values()):
            return offsets
        ends = await self.at(LATEST)
        return {id: offset if offset >= 0 else ends[id] for id, offset in offsets.items()}

    async def _resolved(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Offsets stay; words become offsets."""
        words = {word: await self.at(word) for word in set(wanted.values()) & {EARLIEST, LATEST}}
        return {id: words[offset][id] if offset in words else offset for id, offset in wanted.items()}


def _asked_of_each(bound: Bound, ids: Collection[TopicPartition], option: str) -> Mapping[TopicPartition, int]:
    if bound.everywhere is not None:
        return dict.fromkeys(ids, bound.everywhere)
    if set(bound.each) != set(ids):
        missing = sorted(set(ids) - set(bound.each))
        foreign = sorted(set(bound.each) - set(ids))
        problem = f"does not name {missing[0]}" if missing else f"names {foreign[0]}, which is not read"
        raise UserError(f"{option} {problem}", "name every partition that is read; -2 is its first offset, -1 its end")
    return bound.each
