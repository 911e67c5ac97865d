"""Consumer groups: every request goes to the coordinator of its group, if that is us.

A request about several groups is taken apart by group, since their coordinators differ, and answered when all have.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.broker.coordinators.group import GroupCoordinator
from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.net.requests_in_order import Pending
from headrace.broker.security.rights import Rights
from headrace.cluster.image import Image
from headrace.groups.refusals import FETCH_MANY_GROUPS_SINCE, refused
from headrace.groups.topics import Sight, all_in_sight
from headrace.security.operations import Operation, ResourceType
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from headrace.wire.messages.groups_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsResponse,
)
from headrace.wire.messages.groups_consumer import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from headrace.wire.schema import Response

BY_ID_SINCE_OFFSETS = 10


def handle_one_group(groups: GroupCoordinators, request: Request) -> Pending:
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup, ConsumerGroupHeartbeat, OffsetDelete."""
    pending = request.defer()
    _ask(groups, request, request.body.group_id, request.body, pending.complete)
    return pending


def _ask(
    groups: GroupCoordinators, request: Request, group_id: str, message: Any, answer: Callable[[Response], None]
) -> None:
    def ask(coordinator: GroupCoordinator | None) -> None:
        if coordinator is None:
            answer(refused(message, request.version, ErrorCode.NOT_COORDINATOR))
            return
        host = request.connection.peer.rpartition(":")[0]
        coordinator.ask(message, request.version, request.client_id or "", f"/{host}", answer, _sight(request.rights))

    groups.when_here(group_id, ask)


def _sight(rights: Rights) -> Sight:
    return all_in_sight if rights.is_unlimited else partial(rights.topic, Operation.DESCRIBE)


def handle_offset_commit(view: View, groups: GroupCoordinators, request: Request) -> Pending:
    """Offsets of partitions that do not exist are refused here; the coordinator knows groups, not topics."""
    pending = request.defer()
    refusals = take_out_unknown(view.image, request.body.topics, by_id=request.version >= BY_ID_SINCE_OFFSETS)

    def answer(response: Any) -> None:
        for topic in response.topics:
            topic.partitions += refusals.pop((topic.name, topic.topic_id), [])
        response.topics += [OffsetCommitResponseTopic(*key, partitions) for key, partitions in refusals.items()]
        pending.complete(response)

    _ask(groups, request, request.body.group_id, request.body, answer)
    return pending


def take_out_unknown(
    image: Image, topics: list[OffsetCommitRequestTopic], by_id: bool
) -> dict[tuple[str, bytes], list[OffsetCommitResponsePartition]]:
    """Gives every topic its name and id, and leaves only partitions that exist; what it took out comes back refused."""
    refusals: dict[tuple[str, bytes], list[OffsetCommitResponsePartition]] = {}
    code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for topic in list(topics):
        known = image.topic_by_id(topic.topic_id) if by_id else image.topics.get(topic.name)
        if known is None:
            topics.remove(topic)
            refusals[topic.name, topic.topic_id] = [
                OffsetCommitResponsePartition(part.partition_index, code) for part in topic.partitions
            ]
            continue
        topic.name, topic.topic_id = known.name, known.id
        count = len(known.partitions)
        unknown = [part for part in topic.partitions if not 0 <= part.partition_index < count]
        if unknown:
            topic.partitions = [part for part in topic.partitions if 0 <= part.partition_index < count]
            refusals[topic.name, topic.topic_id] = [
                OffsetCommitResponsePartition(part.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                for part in unknown
            ]
    return refusals


def handle_offset_fetch(view: View, groups: GroupCoordinators, request: Request) -> Pending:
    if request.version < FETCH_MANY_GROUPS_SINCE:
        return handle_one_group(groups, request)
    image = view.image
    if request.version >= BY_ID_SINCE_OFFSETS:
        for group in request.body.groups:
            for topic in group.topics or ():
                # An id nobody has names no topic, so nothing is found under it.
                topic.name = image.topic_names.get(topic.topic_id, "")
    parts = [
        (group.group_id, OffsetFetchRequest(groups=[group], require_stable=request.body.require_stable))
        for group in request.body.groups
    ]

    def merge(answers: list[Any]) -> OffsetFetchResponse:
        groups = [each.groups[0] for each in answers]
        for group in groups:
            for topic in group.topics:
                known = image.topics.get(topic.name)
                if known is not None:
                    topic.topic_id = known.id
        return OffsetFetchResponse(groups=groups)

    return _ask_each(groups, request, parts, merge)


def handle_describe_groups(groups: GroupCoordinators, request: Request) -> Pending:
    operations = request.body.include_authorized_operations
    parts = [(group, DescribeGroupsRequest([group], operations)) for group in request.body.groups]

    def merge(answers: list[Any]) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(groups=_with_operations(request, [each.groups[0] for each in answers]))

    return _ask_each(groups, request, parts, merge)


def handle_consumer_group_describe(groups: GroupCoordinators, request: Request) -> Pending:
    operations = request.body.include_authorized_operations
    parts = [(group, ConsumerGroupDescribeRequest([group], operations)) for group in request.body.group_ids]

    def merge(answers: list[Any]) -> ConsumerGroupDescribeResponse:
        return ConsumerGroupDescribeResponse(groups=_with_operations(request, [each.groups[0] for each in answers]))

    return _ask_each(groups, request, parts, merge)


def _with_operations(request: Request, groups: list[Any]) -> list[Any]:
    """The described groups, with what this principal may do with each, if it asked for that."""
    for group in groups if request.body.include_authorized_operations else ():
        if not group.error_code:
            group.authorized_operations = request.rights.operations(ResourceType.GROUP, group.group_id)
    return groups


def handle_delete_groups(groups: GroupCoordinators, request: Request) -> Pending:
    parts = [(group, DeleteGroupsRequest([group])) for group in request.body.groups_names]
    return _ask_each(
        groups, request, parts, lambda answers: DeleteGroupsResponse(results=[each.results[0] for each in answers])
    )


def handle_list_groups(groups: GroupCoordinators, request: Request) -> Pending | ListGroupsResponse:
    """The groups of this broker; clients ask all of them. A coordinator that could not tell its groups is no empty one."""
    if groups.is_away:
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    pending = request.defer()
    coordinators = list(groups)
    gathering = Gathering(len(coordinators), lambda answers: pending.complete(_merge_lists(answers)))
    for place, coordinator in enumerate(coordinators):
        coordinator.ask(request.body, request.version, "", "", gathering.part(place))
    return pending


def _merge_lists(answers: list[Any]) -> ListGroupsResponse:
    code = next((each.error_code for each in answers if each.error_code), 0)
    if code == ErrorCode.NOT_COORDINATOR:
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return ListGroupsResponse(0, code, [group for each in answers for group in each.groups])


def _ask_each(
    groups: GroupCoordinators, request: Request, parts: list[tuple[str, Any]], merge: Callable[[list[Any]], Response]
) -> Pending:
    pending = request.defer()
    gathering = Gathering(len(parts), lambda answers: pending.complete(merge(answers)))
    for place, (group_id, message) in enumerate(parts):
        _ask(groups, request, group_id, message, gathering.part(place))
    return pending


class Gathering:
    """Collects the answers to the parts of a request, in the order of the parts."""

    def __init__(self, count: int, done: Callable[[list[Any]], None]) -> None:
        self._answers: list[Any] = [None] * count
        self._left = count
        self._done = done
        if not count:
            done([])

    def part(self, place: int) -> Callable[[Any], None]:
        def answer(response: Any) -> None:
            self._answers[place] = response
            self._left -= 1
            if not self._left:
                self._done(self._answers)

        return answer
