"""Groups as operators see them: DescribeGroups and ListGroups."""

from collections.abc import Iterable

from headrace.groups.classic import ClassicGroup, GroupState
from headrace.groups.members import Member
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_admin import DescribedGroup, DescribedGroupMember, ListedGroup, ListGroupsRequest

CLASSIC = "classic"
NOT_FOUND_SINCE = 6


def describe_unknown(group_id: str, version: int) -> DescribedGroup:
    """Old clients take a dead group for one that is not there."""
    if version < NOT_FOUND_SINCE:
        return DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
    code = ErrorCode.GROUP_ID_NOT_FOUND
    return DescribedGroup(code, f"there is no group {group_id}", group_id, GroupState.DEAD)


def describe(group: ClassicGroup) -> DescribedGroup:
    """What members want and own is shown only when it is settled."""
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


def list_groups(groups: Iterable[ClassicGroup], request: ListGroupsRequest) -> list[ListedGroup]:
    states = {state.lower() for state in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    if types and CLASSIC not in types:
        return []
    return [
        ListedGroup(group.group_id, group.protocol_type, group.state, CLASSIC)
        for group in groups
        if not states or group.state.lower() in states
    ]
