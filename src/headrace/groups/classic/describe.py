"""The answer to DescribeGroups about one classic group."""

from headrace.groups.classic.group import ClassicGroup, GroupState
from headrace.groups.classic.members import Member
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_admin import DescribedGroup, DescribedGroupMember

NOT_FOUND_SINCE = 6


def describe_classic(group: ClassicGroup | None, group_id: str, version: int) -> DescribedGroup:
    """Describes a group; `group` is None where there is none, or another kind: Kafka's tools then ask by its request."""
    return _unknown(group_id, version) if group is None else _described(group)


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
