"""Metadata: who the brokers are and who leads what; creates a topic on first mention where that is allowed."""

import asyncio
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any

from headrace.base.errors import Refused
from headrace.base.ids import ZERO_ID
from headrace.broker.membership.new_leaders import NewLeaders
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.cluster.changes import NewTopic
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.topic_names import check_topic_name
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import (
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


PARTITIONS_PER_TURN = 1000
# For this request waits whatever its client asks next.
AUTO_CREATE_SECONDS_MAX = 5.0


def handle_metadata(broker: "Broker", request: Request) -> MetadataResponse | Coroutine[Any, Any, MetadataResponse]:
    body = request.body
    wanted: list[MetadataRequestTopic] | None = body.topics
    if wanted is None or (request.version == 0 and not wanted):
        return _answer_all(broker)
    # Once each: a small request that repeats a large topic must not become a huge reply.
    wanted = list({(each.topic_id, each.name): each for each in wanted}.values())
    missing = _missing(broker, wanted) if body.allow_auto_topic_creation else []
    if missing:
        return _create_and_answer(broker, wanted, missing)
    return _answer(broker, [_find(broker, each, {}) for each in wanted])


async def _answer_all(broker: "Broker") -> MetadataResponse:
    """A hundred thousand partitions are described in a quarter of a second: others have their turn in between."""
    listed = _listed(broker.view)
    described, looked_at = [], 0
    for topic in list(broker.image.topics.values()):
        described.append(_describe(broker, listed, topic))
        looked_at += len(topic.partitions)
        if looked_at >= PARTITIONS_PER_TURN:
            looked_at = 0
            await asyncio.sleep(0)
    return _answer(broker, described)


def _missing(broker: "Broker", wanted: list[MetadataRequestTopic]) -> list[str]:
    """Topics to create because they were mentioned."""
    if not broker.view.config.flag("auto.create.topics.enable"):
        return []
    topics = broker.image.topics
    return [each.name for each in wanted if each.name and each.topic_id == ZERO_ID and each.name not in topics]


async def _create_and_answer(
    broker: "Broker", wanted: list[MetadataRequestTopic], missing: list[str]
) -> MetadataResponse:
    refusals: dict[str, int] = {}
    for name in missing:
        try:
            await broker.create_topic(NewTopic(name))
        except Refused as refusal:
            if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                refusals[name] = refusal.code
    await broker.new_leaders.until_usable(missing, AUTO_CREATE_SECONDS_MAX)
    return _answer(broker, [_find(broker, each, refusals) for each in wanted])


def _answer(broker: "Broker", topics: list[MetadataResponseTopic]) -> MetadataResponse:
    image = broker.image
    listed = [*broker.view.listed_brokers(), *_dead_leaders(broker.view, topics)]
    brokers = [MetadataResponseBroker(each.id, each.host, each.port, each.rack) for each in listed]
    return MetadataResponse(0, brokers, image.cluster_id, broker.view.controller_id, topics)


def _find(broker: "Broker", wanted: MetadataRequestTopic, refusals: dict[str, int]) -> MetadataResponseTopic:
    image = broker.image
    if wanted.topic_id != ZERO_ID:
        name = image.topic_names.get(wanted.topic_id)
        if name is None:
            # Not null: before version 12 a name may not be.
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, "", wanted.topic_id)
        return _describe(broker, _listed(broker.view), image.topics[name])
    name = wanted.name or ""
    topic = image.topics.get(name)
    if topic is not None:
        return _describe(broker, _listed(broker.view), topic)
    if name in refusals:
        return MetadataResponseTopic(refusals[name], name)
    try:
        check_topic_name(name)
    except Refused as refusal:
        return MetadataResponseTopic(refusal.code, name)
    return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)


def _dead_leaders(view: View, topics: list[MetadataResponseTopic]) -> list[Registration]:
    """Dead brokers that lead on until the controller has chosen others: clients know no leader without an address."""
    registered = view.image.brokers
    absent = registered.keys() - _listed(view)
    if not absent:
        return []
    leaders = {part.leader_id for topic in topics for part in topic.partitions}
    return [registered[each] for each in sorted(absent & leaders)]


def _listed(view: View) -> set[int]:
    return {each.id for each in view.listed_brokers()}


def _describe(broker: "Broker", listed: Collection[int], topic: Topic) -> MetadataResponseTopic:
    parts = _describe_partitions(broker.view, broker.new_leaders, listed, topic, range(len(topic.partitions)))
    return MetadataResponseTopic(0, topic.name, topic.id, topic.internal, parts)


def describe_partitions(
    view: View, new_leaders: NewLeaders, topic: Topic, indexes: range
) -> list[MetadataResponsePartition]:
    return _describe_partitions(view, new_leaders, _listed(view), topic, indexes)


def _describe_partitions(
    view: View, new_leaders: NewLeaders, listed: Collection[int], topic: Topic, indexes: range
) -> list[MetadataResponsePartition]:
    registered = view.image.brokers
    parts = [_partition(registered, listed, index, topic.partitions[index]) for index in indexes]
    awaited = new_leaders.awaited(topic.id)
    for part in parts if awaited else ():
        if part.partition_index in awaited:
            part.error_code, part.leader_id = ErrorCode.LEADER_NOT_AVAILABLE, -1
    return parts


def _partition(
    registered: Collection[int], listed: Collection[int], index: int, state: PartitionState
) -> MetadataResponsePartition:
    """A dead leader is named until there is another, as Kafka does: some clients give up what is sent to a partition without
    one. A leader that nobody knows would crash clients, so it is told as none (error 5)."""
    has_leader = state.leader in registered
    return MetadataResponsePartition(
        0 if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        index,
        state.leader if has_leader else -1,
        state.leader_epoch,
        list(state.replicas),
        list(state.isr),
        [replica for replica in state.replicas if replica not in listed],
    )
