"""The answers to JoinGroup and SyncGroup when all is well."""

from headrace.groups.classic.records import StoredGroup
from headrace.wire.messages.groups_classic import JoinGroupResponse, JoinGroupResponseMember, SyncGroupResponse

SKIP_ASSIGNMENT_SINCE = 9


def joined(stored: StoredGroup, member_id: str) -> JoinGroupResponse:
    """The answer to JoinGroup; only the leader, who assigns, gets the list of members."""
    leads = member_id == stored.leader
    return JoinGroupResponse(
        generation_id=stored.generation,
        protocol_type=stored.protocol_type,
        protocol_name=stored.protocol_name,
        leader=stored.leader or "",
        member_id=member_id,
        members=_member_list(stored) if leads else [],
    )


def rejoined_as_static(
    stored: StoredGroup, member_id: str, leader_before: str | None, version: int
) -> JoinGroupResponse:
    """The answer to a static member that came back: the generation goes on, so nobody may assign anew.

    A leader that came back under another id is told so from version 9 on; before, the answer names the leader by its
    former id, and the member takes itself for a follower.
    """
    if version >= SKIP_ASSIGNMENT_SINCE:
        answer = joined(stored, member_id)
        answer.skip_assignment = member_id == stored.leader
        return answer
    answer = joined(stored._replace(leader=None), member_id)
    answer.leader = leader_before or ""
    return answer


def synced(stored: StoredGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=stored.protocol_type, protocol_name=stored.protocol_name, assignment=assignment
    )


def _member_list(stored: StoredGroup) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(member.member_id, member.instance_id, member.metadata(stored.protocol_name))
        for member in stored.members
    ]
