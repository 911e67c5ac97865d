"""DescribeQuorum: our metadata in the form of Kafka's quorum.

    leader            the broker that controls, its epoch that of its registration
    voters            the registered brokers: each of them can control
    log end offset    the revision of the metadata that a broker goes by
    high watermark    that of the broker that is asked

Who keeps copies of the metadata is the store's affair (one SQLite file, or the members of etcd), and is not told here.
"""

import asyncio

from headrace.base.ids import ZERO_ID, parse_id
from headrace.broker.handlers.addresses import addresses
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.net.peers import Peers
from headrace.client.connection import Disconnected
from headrace.cluster.entities import Broker as Registration
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionAsked,
    QuorumListener,
    QuorumNode,
    QuorumPartition,
    QuorumReplica,
    QuorumTopic,
    TopicAsked,
)

METADATA, ONLY_PARTITION = "__cluster_metadata", 0
# Brokers ask each other in this version, and whoever is asked in it asks nobody else.
AMONG_BROKERS = 0
ASK_SECONDS_MAX = 1.0
# Others use the connection, too: an answer that is late is no reason to close it.
ANSWER_SECONDS_MAX = 10.0
EPOCH_MAX = 2**31 - 1
UNKNOWN = -1


async def handle_describe_quorum(view: View, peers: Peers, request: Request) -> DescribeQuorumResponse:
    asked = request.body.topics
    if not any(_is_metadata(topic, part) for topic in asked for part in topic.partitions):
        topics = [QuorumTopic(topic.topic_name, [_unknown(part) for part in topic.partitions]) for topic in asked]
        return DescribeQuorumResponse(ErrorCode.NONE, "", topics)
    metadata = _metadata(view, await _voters(view, peers, request.version))
    topics = [
        QuorumTopic(
            topic.topic_name,
            [metadata if _is_metadata(topic, part) else _unknown(part) for part in topic.partitions],
        )
        for topic in asked
    ]
    return DescribeQuorumResponse(ErrorCode.NONE, "", topics, _nodes(view, request.listener))


def _is_metadata(topic: TopicAsked, part: PartitionAsked) -> bool:
    return (topic.topic_name, part.partition_index) == (METADATA, ONLY_PARTITION)


def _unknown(part: PartitionAsked) -> QuorumPartition:
    return QuorumPartition(
        part.partition_index,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        f"only partition {ONLY_PARTITION} of {METADATA} has a quorum",
    )


def _metadata(view: View, voters: list[QuorumReplica]) -> QuorumPartition:
    claim, told = view.image.controller, QuorumPartition(ONLY_PARTITION, 0, "", current_voters=voters)
    told.high_watermark = view.image.revision
    if claim is None or claim.broker_id not in view.live:
        told.error_code, told.error_message = ErrorCode.LEADER_NOT_AVAILABLE, "no broker controls at the moment"
        told.leader_id = told.leader_epoch = UNKNOWN
    else:
        told.leader_id, told.leader_epoch = claim.broker_id, min(claim.epoch, EPOCH_MAX)
    return told


def _nodes(view: View, listener: str) -> list[QuorumNode]:
    return [
        QuorumNode(each.id, [QuorumListener(listener, each.host, each.port)])
        for each in addresses(view.image.brokers.values(), listener)
    ]


async def _voters(view: View, peers: Peers, version: int) -> list[QuorumReplica]:
    """How far those are that do not answer in time, nobody knows."""
    at_least, brokers = view.image.revision, list(view.image.brokers.values())
    revisions = await asyncio.gather(*(_revision_of(view, peers, each.id, version) for each in brokers))
    return [
        _voter(each, revision, at_least, view.clock.now().wall)
        for each, revision in zip(brokers, revisions, strict=True)
    ]


def _voter(broker: Registration, revision: int, at_least: int, wall: int) -> QuorumReplica:
    fetched = UNKNOWN if revision == UNKNOWN else wall
    caught_up = wall if revision >= at_least else UNKNOWN
    directory = parse_id(broker.directory_id) if broker.directory_id else ZERO_ID
    return QuorumReplica(broker.id, directory, revision, fetched, caught_up)


async def _revision_of(view: View, peers: Peers, broker_id: int, version: int) -> int:
    if broker_id == view.id:
        return view.image.revision
    if version == AMONG_BROKERS or broker_id not in view.live:
        return UNKNOWN
    request = DescribeQuorumRequest([TopicAsked(METADATA, [PartitionAsked(ONLY_PARTITION)])])
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            response = await peers.ask(broker_id, request, DescribeQuorumResponse, AMONG_BROKERS, ANSWER_SECONDS_MAX)
    except (Disconnected, TimeoutError):
        return UNKNOWN
    if response.error_code:
        return UNKNOWN
    return response.topics[0].partitions[0].high_watermark
