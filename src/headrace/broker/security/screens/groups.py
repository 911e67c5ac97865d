"""Screens of requests about groups and their members."""

from collections.abc import Iterator
from typing import Any

from headrace.broker.net.dispatch import Proceed, Request, Screen
from headrace.broker.security.rights import Rights
from headrace.broker.security.screens.parts import answer_rest, take_out
from headrace.cluster.image import Image
from headrace.groups.refusals import refused
from headrace.security.operations import Operation
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_admin import (
    DeletableGroupResult,
    DescribedGroup,
    ListGroupsResponse,
)
from headrace.wire.messages.groups_consumer import ConsumerGroupDescribeResponse, Member
from headrace.wire.messages.groups_consumer import DescribedGroup as DescribedConsumerGroup

_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def with_group(operation: Operation) -> Screen:
    """The screen of an API that an operation on its one group opens, or that is refused as a whole."""

    def screen(image: Image, request: Request, proceed: Proceed) -> Any:
        if request.rights.group(operation, request.body.group_id):
            return proceed()
        return refused(request.body, request.version, _DENIED)

    return screen


def screen_heartbeat_of_consumer(image: Image, request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    if not rights.group(Operation.READ, body.group_id):
        return refused(body, request.version, _DENIED)
    if not all(rights.topic(Operation.DESCRIBE, name) for name in body.subscribed_topic_names or ()):
        return refused(body, request.version, _TOPIC_DENIED)
    return proceed()


def screen_describe_groups(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(request.body.groups, lambda group: rights.group(Operation.DESCRIBE, group))
    hidden = [DescribedGroup(_DENIED, _DENIED.message, group) for group in denied]
    return answer_rest(request, proceed, hidden, lambda response: response.groups)


def screen_describe_consumer_groups(image: Image, request: Request, proceed: Proceed) -> Any:
    """Members of a group are hidden from those who may not know of each of their topics."""
    rights = request.rights
    denied = take_out(request.body.group_ids, lambda group: rights.group(Operation.DESCRIBE, group))
    hidden = [DescribedConsumerGroup(_DENIED, _DENIED.message, group) for group in denied]

    def amend(response: ConsumerGroupDescribeResponse) -> None:
        for place, group in enumerate(response.groups):
            if not group.error_code and not _may_see_topics(rights, group.members):
                response.groups[place] = DescribedConsumerGroup(_TOPIC_DENIED, _TOPIC_DENIED.message, group.group_id)
        response.groups += hidden

    request.amend(amend)
    return proceed()


def _may_see_topics(rights: Rights, members: list[Member]) -> bool:
    return all(rights.topic(Operation.DESCRIBE, name) for name in set(_topics_of(members)))


def _topics_of(members: list[Member]) -> Iterator[str]:
    for member in members:
        yield from member.subscribed_topic_names
        for assignment in (member.assignment, member.target_assignment):
            yield from (topic.topic_name for topic in assignment.topic_partitions)


def screen_list_groups(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    if rights.cluster(Operation.DESCRIBE):
        return proceed()

    def hide(response: ListGroupsResponse) -> None:
        response.groups = [each for each in response.groups if rights.group(Operation.DESCRIBE, each.group_id)]

    request.amend(hide)
    return proceed()


def screen_delete_groups(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(request.body.groups_names, lambda group: rights.group(Operation.DELETE, group))
    kept = [DeletableGroupResult(group, _DENIED) for group in denied]
    return answer_rest(request, proceed, kept, lambda response: response.results)
