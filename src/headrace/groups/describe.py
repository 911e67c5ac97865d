"""The answers to DescribeGroups and ListGroups: classic groups, and the list of all groups."""

from collections.abc import Iterable

from headrace.groups.classic import ClassicGroup, GroupState
from headrace.groups.group import Group
from headrace.groups.members import CONSUMER, Member
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_admin import DescribedGroup, DescribedGroupMember, ListedGroup, ListGroupsRequest

CLASSIC = "classic"
NOT_FOUND_SINCE = 6


def describe_classic(group: Group | None, group_id: str, version: int) -> DescribedGroup:
    """Describes a classic group. A consumer group is not found here: Kafka's tools then ask by the other request."""
    if group is None or group.consumer is not None:
        return _unknown(group_id, version)
    return _described(group.classic)


def _unknown(group_id: str, version: int) -> DescribedGroup:
    """The answer for a missing group. Old clients take a dead group for one that is not there."""
    if version < NOT_FOUND_SINCE:
        return DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
    code = ErrorCode.GROUP_ID_NOT_FOUND
    return DescribedGroup(code, f"there is no group {group_id}", group_id, GroupState.DEAD)


def _described(group: ClassicGroup) -> DescribedGroup:
    """A group with its state. Subscriptions and assignments are shown only when they are settled."""
    state = group.state
    protocol = group.stored.protocol_name if group.stored is not None and state is GroupState.STABLE else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=state,
        protocol_type=group.protocol_type,
        protocol_data=protocol or "",
        members=[_described_member(member, protocol) for member in group.members.values()],
    )


def _described_member(member: Member, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.metadata(protocol),
        b"" if protocol is None else member.assignment,
    )


def list_groups(groups: Iterable[Group], request: ListGroupsRequest) -> list[ListedGroup]:
    states = {state.lower() for state in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    return [
        listed
        for listed in map(_listed, groups)
        if (not states or listed.group_state.lower() in states) and (not types or listed.group_type in types)
    ]


def _listed(group: Group) -> ListedGroup:
    if group.consumer is not None:
        return ListedGroup(group.group_id, CONSUMER, group.consumer.state, CONSUMER)
    return ListedGroup(group.group_id, group.classic.protocol_type, group.classic.state, CLASSIC)
