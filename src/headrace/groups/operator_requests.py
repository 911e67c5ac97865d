"""The requests of operators: groups listed, described and deleted."""

from headrace.base.clock import Now
from headrace.base.outcome import Reply
from headrace.groups.classic.describe import describe_classic
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.members import CONSUMER
from headrace.groups.consumer.describe import describe_consumer
from headrace.groups.deletion import delete_group
from headrace.groups.group import Group
from headrace.groups.outcome import Command, GroupOutcome, answered, nothing
from headrace.groups.table import GroupTable
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from headrace.wire.messages.groups_consumer import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

CLASSIC = "classic"


def list_groups(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: ListGroupsRequest = command.request
    states = {state.lower() for state in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    listed = [
        each
        for each in map(_listed, table.groups.values())
        if (not states or each.group_state.lower() in states) and (not types or each.group_type in types)
    ]
    return answered(command, ListGroupsResponse(groups=listed))


def _listed(group: Group) -> ListedGroup:
    if group.consumer is not None:
        return ListedGroup(group.group_id, CONSUMER, group.consumer.state, CONSUMER)
    return ListedGroup(group.group_id, group.classic.protocol_type, group.classic.state, CLASSIC)


def describe_classic_groups(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: DescribeGroupsRequest = command.request
    described = [describe_classic(_classic(table, name), name, command.version) for name in request.groups]
    return answered(command, DescribeGroupsResponse(groups=described))


def _classic(table: GroupTable, group_id: str) -> ClassicGroup | None:
    group = table.get(group_id)
    return None if group is None or group.consumer is not None else group.classic


def describe_consumer_groups(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: ConsumerGroupDescribeRequest = command.request
    described = [_described_consumer(table, group_id) for group_id in request.group_ids]
    return answered(command, ConsumerGroupDescribeResponse(groups=described))


def _described_consumer(table: GroupTable, group_id: str) -> DescribedGroup:
    """Describes a consumer group. A classic one is not found here, upon which Kafka's tools ask by the other request."""
    group = table.get(group_id)
    if group is None or group.consumer is None:
        kind = "group" if group is None else "consumer group"
        return DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no {kind} {group_id}", group_id)
    return describe_consumer(group.consumer, table.topics, table.settings)


def delete_groups(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: DeleteGroupsRequest = command.request
    out = nothing()
    # A group named twice would be written twice; the second answer is that of the first.
    codes = {group_id: _delete(table, group_id, out) for group_id in dict.fromkeys(request.groups_names)}
    results = [DeletableGroupResult(group_id, codes[group_id]) for group_id in request.groups_names]
    out.replies.append(Reply(command.ticket, DeleteGroupsResponse(results=results)))
    return out


def _delete(table: GroupTable, group_id: str, out: GroupOutcome) -> ErrorCode:
    group = table.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    code = delete_group(group, out)
    table.drop_if_void(group)
    return code
