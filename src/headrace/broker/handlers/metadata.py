"""Metadata: who the brokers are and who leads what; creates a topic on first mention where that is allowed."""

import asyncio
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.base.errors import Refused
from headrace.base.ids import ZERO_ID
from headrace.broker.handlers.addresses import addresses, controller_for, unreachable
from headrace.broker.handlers.cluster import NOT_ASKED_FOR, operations_of_cluster
from headrace.broker.membership.new_leaders import NewLeaders
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.security.rights import Rights
from headrace.broker.security.screens.parts import may_with_topic, take_out
from headrace.broker.security.screens.topics import may_create
from headrace.cluster.changes import NewTopic
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.topic_names import check_topic_name
from headrace.security.operations import Operation, ResourceType
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


PARTITIONS_PER_TURN = 1000
LISTENER_NOT_FOUND_SINCE = 6
NO_NAME_IS_NULL_SINCE = 12
# For this request waits whatever its client asks next.
AUTO_CREATE_SECONDS_MAX = 5.0


def handle_metadata(broker: "Broker", request: Request) -> MetadataResponse | Coroutine[Any, Any, MetadataResponse]:
    body = request.body
    wanted: list[MetadataRequestTopic] | None = body.topics
    if wanted is None or (request.version == 0 and not wanted):
        return _answer_all(broker, request)
    # Once each: a small request that repeats a large topic must not become a huge reply.
    wanted = list({(each.topic_id, each.name): each for each in wanted}.values())
    # Before any existence is looked at, and before anything is made.
    hidden = [
        _hidden(each, request.version) for each in take_out(wanted, lambda each: _may_see(broker, request.rights, each))
    ]
    missing = _missing(broker, wanted) if body.allow_auto_topic_creation else []
    if missing:
        return _create_and_answer(broker, request, wanted, missing, hidden)
    return _answer(broker, request, [_find(broker, request, each, {}) for each in wanted] + hidden)


def _may_see(broker: "Broker", rights: Rights, wanted: MetadataRequestTopic) -> bool:
    if wanted.topic_id == ZERO_ID:
        return rights.topic(Operation.DESCRIBE, wanted.name or "")
    return may_with_topic(rights, broker.image, Operation.DESCRIBE, "", wanted.topic_id)


def _hidden(wanted: MetadataRequestTopic, version: int) -> MetadataResponseTopic:
    """The answer for a topic that the principal may not describe, with no more of it than was asked."""
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if wanted.topic_id != ZERO_ID:
        return MetadataResponseTopic(code, None if version >= NO_NAME_IS_NULL_SINCE else "", wanted.topic_id)
    return MetadataResponseTopic(code, wanted.name)


async def _answer_all(broker: "Broker", request: Request) -> MetadataResponse:
    """A hundred thousand partitions are described in a quarter of a second: others have their turn in between."""
    known = known_brokers(broker.view, request)
    described, looked_at = [], 0
    for topic in list(broker.image.topics.values()):
        if not request.rights.topic(Operation.DESCRIBE, topic.name):
            continue
        described.append(_describe(broker, known, topic))
        looked_at += len(topic.partitions)
        if looked_at >= PARTITIONS_PER_TURN:
            looked_at = 0
            await asyncio.sleep(0)
    return _answer(broker, request, described)


def _missing(broker: "Broker", wanted: list[MetadataRequestTopic]) -> list[str]:
    """Topics to create because they were mentioned."""
    if not broker.view.config.flag("auto.create.topics.enable"):
        return []
    topics = broker.image.topics
    return [each.name for each in wanted if each.name and each.topic_id == ZERO_ID and each.name not in topics]


async def _create_and_answer(
    broker: "Broker",
    request: Request,
    wanted: list[MetadataRequestTopic],
    missing: list[str],
    hidden: list[MetadataResponseTopic],
) -> MetadataResponse:
    refusals: dict[str, int] = {}
    denied = take_out(missing, lambda name: may_create(request.rights, name))
    refusals.update(dict.fromkeys(denied, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    for name in missing:
        try:
            await broker.create_topic(NewTopic(name))
        except Refused as refusal:
            if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                refusals[name] = refusal.code
    await broker.new_leaders.until_usable(missing, AUTO_CREATE_SECONDS_MAX)
    return _answer(broker, request, [_find(broker, request, each, refusals) for each in wanted] + hidden)


def _answer(broker: "Broker", request: Request, topics: list[MetadataResponseTopic]) -> MetadataResponse:
    view, listener, body, rights = broker.view, request.listener, request.body, request.rights
    for topic in topics if body.include_topic_authorized_operations else ():
        if not topic.error_code:
            topic.topic_authorized_operations = rights.operations(ResourceType.TOPIC, topic.name or "")
    operations = operations_of_cluster(rights) if body.include_cluster_authorized_operations else NOT_ASKED_FOR
    listed = [*view.listed_brokers(), *_dead_leaders(view, topics)]
    brokers = [MetadataResponseBroker(*each) for each in addresses(listed, listener)]
    return MetadataResponse(0, brokers, view.image.cluster_id, controller_for(view, listener), topics, operations)


def _find(
    broker: "Broker", request: Request, wanted: MetadataRequestTopic, refusals: dict[str, int]
) -> MetadataResponseTopic:
    image = broker.image
    if wanted.topic_id != ZERO_ID:
        name = image.topic_names.get(wanted.topic_id)
        if name is None:
            # Not null: before version 12 a name may not be.
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, "", wanted.topic_id)
        return _describe(broker, known_brokers(broker.view, request), image.topics[name])
    name = wanted.name or ""
    topic = image.topics.get(name)
    if topic is not None:
        return _describe(broker, known_brokers(broker.view, request), topic)
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


class KnownBrokers(NamedTuple):
    """The brokers as one client knows them."""

    registered: Collection[int]
    listed: Collection[int]
    unreachable: Collection[int]
    """Brokers that lack the listener on which the client came in."""
    unreachable_code: ErrorCode


def known_brokers(view: View, request: Request) -> KnownBrokers:
    says_why = not isinstance(request.body, MetadataRequest) or request.version >= LISTENER_NOT_FOUND_SINCE
    code = ErrorCode.LISTENER_NOT_FOUND if says_why else ErrorCode.LEADER_NOT_AVAILABLE
    return KnownBrokers(view.image.brokers, _listed(view), unreachable(view.image, request.listener), code)


def _describe(broker: "Broker", known: KnownBrokers, topic: Topic) -> MetadataResponseTopic:
    parts = describe_partitions(broker.new_leaders, known, topic, range(len(topic.partitions)))
    return MetadataResponseTopic(0, topic.name, topic.id, topic.internal, parts)


def describe_partitions(
    new_leaders: NewLeaders, known: KnownBrokers, topic: Topic, indexes: range
) -> list[MetadataResponsePartition]:
    parts = [_partition(known, index, topic.partitions[index]) for index in indexes]
    awaited = new_leaders.awaited(topic.id)
    for part in parts if awaited else ():
        if part.partition_index in awaited:
            part.error_code, part.leader_id = ErrorCode.LEADER_NOT_AVAILABLE, -1
    return parts


def _partition(known: KnownBrokers, index: int, state: PartitionState) -> MetadataResponsePartition:
    """A dead leader is named until there is another, as Kafka does: some clients give up what is sent to a partition without
    one. A leader that nobody knows would crash clients, so it is told as none (error 5)."""
    code = ErrorCode.NONE if state.leader in known.registered else ErrorCode.LEADER_NOT_AVAILABLE
    if state.leader in known.unreachable:
        code = known.unreachable_code
    return MetadataResponsePartition(
        code,
        index,
        -1 if code else state.leader,
        state.leader_epoch,
        list(state.replicas),
        list(state.isr),
        [replica for replica in state.replicas if replica not in known.listed],
    )
