"""JoinGroup: the members that may come in, and the rebalance that their coming sets off.

A new dynamic member is first given an id and asked to come again with it (from version 4 on): otherwise clients that
give up and retry would leave nameless members behind in a rebalance.
"""

from headrace.base.clock import Now
from headrace.base.outcome import Reply, Timer
from headrace.groups.classic.answers import joined
from headrace.groups.classic.group import ClassicGroup, GroupState, ParkedRequest
from headrace.groups.classic.members import Member, Protocol, common_protocols
from headrace.groups.classic.rebalance import (
    complete_if_all_joined,
    on_members_gone,
    open_first_join_phase,
    open_join_phase,
    park_join,
    remove_member,
)
from headrace.groups.classic.sessions import NEWCOMER_WAIT_MS_MAX, renew_session
from headrace.groups.classic.static_members import replace_static_member
from headrace.groups.outcome import Command, GroupOutcome
from headrace.groups.refusals import refused_join
from headrace.groups.sessions import set_session
from headrace.groups.settings import GroupSettings
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import JoinGroupRequest

MEMBER_ID_REQUIRED_SINCE = 4
# In characters. Newer versions carry longer names than a key of the log, or an answer to an older client, can.
NAME_LENGTH_MAX = 8_000


def decide_join(group: ClassicGroup, command: Command, settings: GroupSettings, now: Now, out: GroupOutcome) -> None:
    request: JoinGroupRequest = command.request
    code = _check(group, request, settings)
    if code is not ErrorCode.NONE:
        _refuse(group, command, code, now, out)
    elif request.member_id:
        _join_known(group, command, settings, now, out)
    elif request.group_instance_id is None and command.version >= MEMBER_ID_REQUIRED_SINCE:
        _hand_out_member_id(group, command, now, out)
    else:
        member = _member(command, command.fresh_member_id)
        if request.group_instance_id in group.member_id_of_instance:
            replace_static_member(group, member, command, now, out)
        else:
            _let_in(group, member, command, settings, now, out)


def _check(group: ClassicGroup, request: JoinGroupRequest, settings: GroupSettings) -> ErrorCode:
    if has_long_names(request):
        return ErrorCode.INVALID_REQUEST
    if not _has_room(group, request, settings.group_max_size):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if not _fits(group, request):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_new = not request.member_id or (request.member_id in group.pending and request.group_instance_id is None)
    return ErrorCode.NONE if is_new else group.check_member(request.member_id, request.group_instance_id)


def has_long_names(request: JoinGroupRequest) -> bool:
    names = (request.protocol_type, request.group_instance_id or "", *(each.name for each in request.protocols))
    return max(map(len, names)) > NAME_LENGTH_MAX


def _has_room(group: ClassicGroup, request: JoinGroupRequest, size_max: int) -> bool:
    phase = group.join_phase
    if phase is None:
        taken, is_in = len(group.members), request.member_id in group.members
    else:
        # Counting the members that came again brings a group under a limit that was lowered: the last stay out.
        taken, is_in = len(phase.tickets), request.member_id in phase.tickets
    return is_in or taken < size_max or request.group_instance_id in group.member_id_of_instance


def _fits(group: ClassicGroup, request: JoinGroupRequest) -> bool:
    names = {protocol.name for protocol in request.protocols}
    if group.state is GroupState.EMPTY:
        return bool(request.protocol_type and names)
    if request.protocol_type != group.protocol_type:
        return False
    return bool(names & common_protocols(group.members.values()) if group.members else names)


def _refuse(group: ClassicGroup, command: Command, code: ErrorCode, now: Now, out: GroupOutcome) -> None:
    member_id = command.request.member_id
    out.replies.append(Reply(command.ticket, refused_join(member_id, command.version, code)))
    if code is ErrorCode.GROUP_MAX_SIZE_REACHED and member_id in group.members:
        remove_member(group, member_id, code, out)
        on_members_gone(group, now, out)


def _hand_out_member_id(group: ClassicGroup, command: Command, now: Now, out: GroupOutcome) -> None:
    member_id = command.fresh_member_id
    group.pending[member_id] = now.mono + command.request.session_timeout_ms / 1000
    out.timers.append(Timer(group.pending_timer(member_id), group.pending[member_id]))
    answer = refused_join(member_id, command.version, ErrorCode.MEMBER_ID_REQUIRED)
    out.replies.append(Reply(command.ticket, answer))


def _join_known(group: ClassicGroup, command: Command, settings: GroupSettings, now: Now, out: GroupOutcome) -> None:
    member_id = command.request.member_id
    member = _member(command, member_id)
    if member_id in group.pending:
        del group.pending[member_id]
        out.timers.append(Timer(group.pending_timer(member_id), None))
        _let_in(group, member, command, settings, now, out)
        return
    # Whether it is static was settled when it came.
    member = member._replace(instance_id=group.members[member_id].instance_id)
    if _is_content(group, member):
        assert group.stored is not None
        renew_session(group, member_id, now, out)
        out.replies.append(Reply(command.ticket, joined(group.stored, member_id)))
    else:
        phase = open_join_phase(group, now, out)
        park_join(group, phase, member, ParkedRequest(command.ticket, command.version), out)
        if member_id in phase.newcomers:
            set_session(group, member_id, NEWCOMER_WAIT_MS_MAX, now, out)
        complete_if_all_joined(group, now, out)


def _is_content(group: ClassicGroup, member: Member) -> bool:
    """Whether the member's generation will do: it lost an answer, or syncs anew.

    A leader that comes in a stable group wants another assignment, since only it knows that the topics changed.
    """
    if group.state is GroupState.PREPARING_REBALANCE or group.members[member.member_id].protocols != member.protocols:
        return False
    return group.state is GroupState.COMPLETING_REBALANCE or member.member_id != group.leader


def _let_in(
    group: ClassicGroup, member: Member, command: Command, settings: GroupSettings, now: Now, out: GroupOutcome
) -> None:
    if group.state is GroupState.EMPTY:
        delay_ms = settings.group_initial_rebalance_delay_ms
        phase = open_first_join_phase(group, member, command.request.protocol_type, delay_ms, now)
        out.timers.append(Timer(group.join_timer, phase.deadline))
    else:
        phase = open_join_phase(group, now, out)
        phase.grew = True
    phase.newcomers.add(member.member_id)
    park_join(group, phase, member, ParkedRequest(command.ticket, command.version), out)
    set_session(group, member.member_id, NEWCOMER_WAIT_MS_MAX, now, out)
    complete_if_all_joined(group, now, out)


def _member(command: Command, member_id: str) -> Member:
    request: JoinGroupRequest = command.request
    # Version 0 has no rebalance time-out.
    rebalance_timeout_ms = request.rebalance_timeout_ms
    protocols = {protocol.name: protocol.metadata for protocol in reversed(request.protocols)}
    return Member(
        member_id,
        request.group_instance_id,
        command.client_id,
        command.client_host,
        request.session_timeout_ms,
        request.session_timeout_ms if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
        tuple(Protocol(name, metadata) for name, metadata in reversed(protocols.items())),
    )
