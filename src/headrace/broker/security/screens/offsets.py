"""Screens of what groups have consumed: OffsetCommit, OffsetFetch, OffsetDelete, TxnOffsetCommit."""

from typing import Any

from headrace.broker.net.dispatch import Proceed, Request
from headrace.broker.security.rights import Rights
from headrace.broker.security.screens.parts import answer_rest, may_with_topic, take_out
from headrace.cluster.image import Image
from headrace.groups.refusals import FETCH_MANY_GROUPS_SINCE, refused
from headrace.security.operations import Operation
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from headrace.wire.messages.transactions import (
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
_ID_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def screen_offset_commit(image: Image, request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    if not rights.group(Operation.READ, body.group_id):
        return refused(body, request.version, _GROUP_DENIED)
    denied = take_out(
        body.topics, lambda topic: may_with_topic(rights, image, Operation.READ, topic.name, topic.topic_id)
    )
    uncommitted = [
        OffsetCommitResponseTopic(
            topic.name,
            topic.topic_id,
            [OffsetCommitResponsePartition(part.partition_index, _DENIED) for part in topic.partitions],
        )
        for topic in denied
    ]
    return answer_rest(request, proceed, uncommitted, lambda response: response.topics)


# -- OffsetFetch -------------------------------------------------------------------------------------------------------


def screen_offset_fetch(image: Image, request: Request, proceed: Proceed) -> Any:
    if request.version < FETCH_MANY_GROUPS_SINCE:
        return _screen_fetch_of_one(request, proceed)
    return _screen_fetch_of_many(image, request, proceed)


def _screen_fetch_of_one(request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    if not rights.group(Operation.DESCRIBE, body.group_id):
        return refused(body, request.version, _GROUP_DENIED)
    denied = take_out(body.topics or [], lambda topic: rights.topic(Operation.DESCRIBE, topic.name))
    unknown = [
        OffsetFetchResponseTopic(
            topic.name, [OffsetFetchResponsePartition(index, -1, -1, "", _DENIED) for index in topic.partition_indexes]
        )
        for topic in denied
    ]

    def amend(response: OffsetFetchResponse) -> None:
        seen = [topic for topic in response.topics if rights.topic(Operation.DESCRIBE, topic.name)]
        response.topics = seen + ([] if response.error_code else unknown)

    request.amend(amend)
    return proceed()


def _screen_fetch_of_many(image: Image, request: Request, proceed: Proceed) -> Any:
    """Topics that a request names are refused; those of a request for all are left out."""
    body, rights = request.body, request.rights
    denied_groups = take_out(body.groups, lambda group: rights.group(Operation.DESCRIBE, group.group_id))
    # By place, since a request may name a group twice.
    unknown = [_take_out_topics(image, rights, group) for group in body.groups]

    def amend(response: OffsetFetchResponse) -> None:
        for group, named in zip(response.groups, unknown, strict=True):
            seen = [topic for topic in group.topics if _may_see(rights, topic)]
            group.topics = seen + ([] if group.error_code else named)
        response.groups += [OffsetFetchResponseGroup(group.group_id, [], _GROUP_DENIED) for group in denied_groups]

    request.amend(amend)
    return proceed()


def _take_out_topics(image: Image, rights: Rights, group: OffsetFetchRequestGroup) -> list[OffsetFetchResponseTopics]:
    def may(topic: OffsetFetchRequestTopics) -> bool:
        return may_with_topic(rights, image, Operation.DESCRIBE, topic.name, topic.topic_id)

    return [
        OffsetFetchResponseTopics(
            topic.name,
            topic.topic_id,
            [OffsetFetchResponsePartitions(index, -1, -1, "", _DENIED) for index in topic.partition_indexes],
        )
        for topic in take_out(group.topics or [], may)
    ]


def _may_see(rights: Rights, topic: OffsetFetchResponseTopics) -> bool:
    return not topic.name or rights.topic(Operation.DESCRIBE, topic.name)


# ----------------------------------------------------------------------------------------------------------------------


def screen_offset_delete(image: Image, request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    if not rights.group(Operation.DELETE, body.group_id):
        return refused(body, request.version, _GROUP_DENIED)
    denied = take_out(body.topics, lambda topic: rights.topic(Operation.READ, topic.name))
    kept = [
        OffsetDeleteResponseTopic(
            topic.name, [OffsetDeleteResponsePartition(part.partition_index, _DENIED) for part in topic.partitions]
        )
        for topic in denied
    ]

    def add(response: OffsetDeleteResponse) -> None:
        response.topics += [] if response.error_code else kept

    request.amend(add)
    return proceed()


def screen_txn_offset_commit(image: Image, request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    if not rights.transactional_id(Operation.WRITE, body.transactional_id):
        return TxnOffsetCommitResponse(0, _uncommitted(body.topics, _ID_DENIED))
    if not rights.group(Operation.READ, body.group_id):
        return TxnOffsetCommitResponse(0, _uncommitted(body.topics, _GROUP_DENIED))
    denied = take_out(body.topics, lambda topic: rights.topic(Operation.READ, topic.name))
    uncommitted = _uncommitted(denied, _DENIED)
    if not body.topics:
        return TxnOffsetCommitResponse(0, uncommitted)
    return answer_rest(request, proceed, uncommitted, lambda response: response.topics)


def _uncommitted(topics: list[TxnOffsetCommitRequestTopic], code: ErrorCode) -> list[TxnOffsetCommitResponseTopic]:
    return [
        TxnOffsetCommitResponseTopic(
            topic.name, [TxnOffsetCommitResponsePartition(part.partition_index, code) for part in topic.partitions]
        )
        for topic in topics
    ]
