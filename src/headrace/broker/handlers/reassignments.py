"""AlterPartitionReassignments and ListPartitionReassignments: partitions on their way to other brokers.

Any broker takes them: a move is begun by a commit, copied by fetchers, and ended by whoever controls.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.cluster.image import Image
from headrace.cluster.reassign import Reassignment, list_reassignments, reassign
from headrace.cluster.store import OPERATIONS_MAX, Commit
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.replicas import (
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


class Wish(NamedTuple):
    partition: TopicPartition
    target: list[int] | None
    """None cancels."""


Refusals = dict[TopicPartition, Refused]


async def handle_alter_partition_reassignments(view: View, request: Request) -> AlterPartitionReassignmentsResponse:
    body = request.body
    wishes = {
        TopicPartition(topic.name, part.partition_index): part.replicas
        for topic in body.topics
        for part in topic.partitions
    }
    refusals: Refusals = {}
    for some in _commit_sized([Wish(id, target) for id, target in wishes.items()]):
        await _reassign(view, some, body.allow_replication_factor_change, refusals)
    topics = [
        ReassignableTopicResponse(
            topic.name,
            [_outcome(TopicPartition(topic.name, part.partition_index), refusals) for part in topic.partitions],
        )
        for topic in body.topics
    ]
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=body.allow_replication_factor_change, responses=topics
    )


def _commit_sized(wishes: Sequence[Wish]) -> Iterator[Sequence[Wish]]:
    for start in range(0, len(wishes), OPERATIONS_MAX):
        yield wishes[start : start + OPERATIONS_MAX]


async def _reassign(
    view: View, wishes: Sequence[Wish], may_change_factor: bool, refusals: dict[TopicPartition, Refused]
) -> None:
    """One commit for all of them, so that planning again after a conflict finds none of them done."""

    def plan(image: Image) -> list[Commit]:
        return _plan(view, image, wishes, may_change_factor, refusals)

    try:
        await view.metadata.change(plan)
    except Refused as refusal:
        refusals.update((wish.partition, refusal) for wish in wishes if wish.partition not in refusals)


def _plan(
    view: View, image: Image, wishes: Sequence[Wish], may_change_factor: bool, refusals: Refusals
) -> list[Commit]:
    puts: dict[str, bytes | None] = {}
    expect: dict[str, int] = {}
    for (topic, index), target in wishes:
        refusals.pop(TopicPartition(topic, index), None)
        try:
            commit = reassign(image, view.live, topic, index, target, view.config, may_change_factor=may_change_factor)
        except Refused as refusal:
            refusals[TopicPartition(topic, index)] = refusal
            continue
        if commit is not None:
            puts.update(commit.puts)
            expect.update(commit.expect)
    return [Commit(puts, expect)] if puts else []


def _outcome(id: TopicPartition, refusals: Refusals) -> ReassignablePartitionResponse:
    refusal = refusals.get(id)
    if refusal is None:
        return ReassignablePartitionResponse(id.partition, ErrorCode.NONE, None)
    return ReassignablePartitionResponse(id.partition, refusal.code, refusal.message)


def handle_list_partition_reassignments(view: View, request: Request) -> ListPartitionReassignmentsResponse:
    wanted = _wanted(request.body.topics)
    topics: dict[str, OngoingTopicReassignment] = {}
    for move in list_reassignments(view.image):
        if wanted is None or TopicPartition(move.topic, move.partition) in wanted:
            topic = topics.setdefault(move.topic, OngoingTopicReassignment(move.topic, []))
            topic.partitions.append(_ongoing(move))
    return ListPartitionReassignmentsResponse(error_message=None, topics=list(topics.values()))


def _wanted(topics: list[ListPartitionReassignmentsTopics] | None) -> set[TopicPartition] | None:
    if topics is None:
        return None
    return {TopicPartition(topic.name, index) for topic in topics for index in topic.partition_indexes}


def _ongoing(move: Reassignment) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(move.partition, list(move.replicas), list(move.adding), list(move.removing))
