"""All groups of one partition of __consumer_offsets: what the shell calls.

    outcome = groups.handle(command, now)      also on_timer, expire, on_topics_deleted
    append outcome.records as one batch; for each of them groups.apply(record); set outcome.timers
    when the high watermark has passed the append: send outcome.replies

Between a decision and the `apply` of its records there is no other decision. If the append fails, the whole object is
dropped and a new one is loaded later, so nothing is ever undone. To load: `apply` every record of the log, in order, then
`on_loaded` once; members of a loaded group go on in their generation.

Requests that name many groups come here with only those of this partition; the shell splits and joins them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from headrace.base.clock import Now
from headrace.groups.classic import ClassicGroup, GroupState
from headrace.groups.describe import describe, describe_unknown, list_groups
from headrace.groups.expiry import expired
from headrace.groups.heartbeats import decide_heartbeat, on_pending_timer, on_session_timer
from headrace.groups.join import NAME_LENGTH_MAX, decide_join
from headrace.groups.leave import decide_leave
from headrace.groups.offset_fetch import fetch_group, fetch_one
from headrace.groups.offsets import CommittedOffsets, decide_commit, decide_delete_offsets
from headrace.groups.outcome import Command, Outcome, Reply, Timer, TimerKey, answered, nothing
from headrace.groups.rebalance import (
    await_syncs,
    on_join_timer,
    on_sync_timer,
    open_join_phase,
)
from headrace.groups.records import GroupRecord, OffsetRecord, Record
from headrace.groups.refusals import FETCH_MANY_GROUPS_SINCE, refused, refused_commit, refused_leave
from headrace.groups.sessions import renew_session
from headrace.groups.settings import GroupSettings
from headrace.groups.sync import decide_sync
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from headrace.wire.messages.groups_admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)

# Expiry stops after a group that brings it here, and goes on when asked again.
EXPIRED_RECORDS_MAX = 10_000


class Group:
    """Members and offsets come and go apart from each other; the group is there while either is."""

    __slots__ = ("classic", "offsets")

    def __init__(self, group_id: str) -> None:
        self.classic = ClassicGroup(group_id)
        self.offsets = CommittedOffsets(group_id)

    @property
    def is_void(self) -> bool:
        return not self.offsets.topics and self.classic.is_void


class Groups:
    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.groups: dict[str, Group] = {}

    # -- what survives -----------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        group = self._get_or_add(record.group_id)
        if isinstance(record, OffsetRecord):
            group.offsets.apply(record)
        else:
            group.classic.apply(record.value)
        self._drop_if_void(group)

    def on_loaded(self, now: Now) -> Outcome:
        out = nothing()
        for group in self.groups.values():
            classic = group.classic
            for member_id in classic.members:
                renew_session(classic, member_id, now, out)
            if classic.state is GroupState.COMPLETING_REBALANCE:
                await_syncs(classic, now, out)
            if len(classic.members) > self.settings.group_max_size:
                open_join_phase(classic, now, out)
        return out

    # -- requests ----------------------------------------------------------------------------------------------------

    def handle(self, command: Command, now: Now) -> Outcome:
        return _HANDLERS[type(command.request)](self, command, now)

    def _join(self, command: Command, now: Now) -> Outcome:
        request: JoinGroupRequest = command.request
        code = self._check_join(request)
        if code is not ErrorCode.NONE:
            return answered(command, refused(request, command.version, code))
        group = self._get_or_add(request.group_id)
        outcome = decide_join(group.classic, command, self.settings, now)
        self._drop_if_void(group)
        return outcome

    def _check_join(self, request: JoinGroupRequest) -> ErrorCode:
        if not request.group_id or len(request.group_id) > NAME_LENGTH_MAX:
            return ErrorCode.INVALID_GROUP_ID
        shortest, longest = self.settings.group_min_session_timeout_ms, self.settings.group_max_session_timeout_ms
        if not shortest <= request.session_timeout_ms <= longest:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if request.member_id and request.group_id not in self.groups:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def _sync(self, command: Command, now: Now) -> Outcome:
        return self._as_member(command, lambda classic: decide_sync(classic, command, now))

    def _heartbeat(self, command: Command, now: Now) -> Outcome:
        return self._as_member(command, lambda classic: decide_heartbeat(classic, command, now))

    def _as_member(self, command: Command, decide: Callable[[ClassicGroup], Outcome]) -> Outcome:
        group = self.groups.get(command.request.group_id)
        if group is not None:
            return decide(group.classic)
        code = ErrorCode.UNKNOWN_MEMBER_ID if command.request.group_id else ErrorCode.INVALID_GROUP_ID
        return answered(command, refused(command.request, command.version, code))

    def _leave(self, command: Command, now: Now) -> Outcome:
        request: LeaveGroupRequest = command.request
        if not request.group_id:
            return answered(command, refused(request, command.version, ErrorCode.INVALID_GROUP_ID))
        group = self.groups.get(request.group_id)
        if group is None:
            return answered(command, refused_leave(request, command.version, ErrorCode.UNKNOWN_MEMBER_ID))
        outcome = decide_leave(group.classic, command, now)
        self._drop_if_void(group)
        return outcome

    def _commit(self, command: Command, now: Now) -> Outcome:
        # Unlike members, commits may come under the empty name: clients without a group have always done so.
        if len(command.request.group_id) > NAME_LENGTH_MAX:
            return answered(command, refused_commit(command.request, ErrorCode.INVALID_GROUP_ID))
        group = self.groups.get(command.request.group_id)
        return decide_commit(None if group is None else group.classic, command, self.settings, now)

    def _fetch(self, command: Command, now: Now) -> Outcome:
        request: OffsetFetchRequest = command.request
        if command.version < FETCH_MANY_GROUPS_SINCE:
            return answered(command, fetch_one(request, self._offsets(request.group_id)))
        groups = [fetch_group(each, self._offsets(each.group_id)) for each in request.groups]
        return answered(command, OffsetFetchResponse(groups=groups))

    def _offsets(self, group_id: str) -> CommittedOffsets:
        group = self.groups.get(group_id)
        return CommittedOffsets(group_id) if group is None else group.offsets

    def _delete_offsets(self, command: Command, now: Now) -> Outcome:
        request: OffsetDeleteRequest = command.request
        group = self.groups.get(request.group_id)
        if group is not None:
            return decide_delete_offsets(group.classic, group.offsets, command)
        code = ErrorCode.GROUP_ID_NOT_FOUND if request.group_id else ErrorCode.INVALID_GROUP_ID
        return answered(command, refused(request, command.version, code))

    def _delete_groups(self, command: Command, now: Now) -> Outcome:
        request: DeleteGroupsRequest = command.request
        out = nothing()
        # Named twice, it would be written twice; the second answer is that of the first.
        codes = {group_id: self._delete_group(group_id, out) for group_id in dict.fromkeys(request.groups_names)}
        results = [DeletableGroupResult(group_id, codes[group_id]) for group_id in request.groups_names]
        out.replies.append(Reply(command.ticket, DeleteGroupsResponse(results=results)))
        return out

    def _delete_group(self, group_id: str, out: Outcome) -> ErrorCode:
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        classic = group.classic
        if classic.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        out.timers.extend(Timer(classic.pending_timer(member_id), None) for member_id in classic.pending)
        classic.pending.clear()
        out.records.extend(group.offsets.tombstones(lambda topic, committed: True))
        if classic.stored is not None:
            out.records.append(GroupRecord(group_id, None))
        self._drop_if_void(group)
        return ErrorCode.NONE

    def _describe(self, command: Command, now: Now) -> Outcome:
        request: DescribeGroupsRequest = command.request
        described = [
            describe(self.groups[group_id].classic)
            if group_id in self.groups
            else describe_unknown(group_id, command.version)
            for group_id in request.groups
        ]
        return answered(command, DescribeGroupsResponse(groups=described))

    def _list(self, command: Command, now: Now) -> Outcome:
        listed = list_groups((group.classic for group in self.groups.values()), command.request)
        return answered(command, ListGroupsResponse(groups=listed))

    # -- what happens by itself --------------------------------------------------------------------------------------

    def on_timer(self, key: TimerKey, now: Now) -> Outcome:
        out = nothing()
        group = self.groups.get(key[1])
        if group is None:
            return out
        match key:
            case ("session", _, member_id):
                on_session_timer(group.classic, member_id, now, out)
            case ("pending", _, member_id):
                on_pending_timer(group.classic, member_id, now, out)
            case ("join", _):
                on_join_timer(group.classic, self.settings.group_initial_rebalance_delay_ms, now, out)
            case ("sync", _):
                on_sync_timer(group.classic, now, out)
        self._drop_if_void(group)
        return out

    def on_topics_deleted(self, is_gone: Callable[[str, bytes], bool]) -> Outcome:
        """Offsets of topics that are gone, by name and the id they had when committed (zero when not known), so that
        a topic made anew under an old name starts without them. Ask after loading too."""
        out = nothing()
        for group in self.groups.values():
            out.records.extend(group.offsets.tombstones(lambda topic, committed: is_gone(topic, committed.topic_id)))
        return out

    def expire(self, now: Now) -> Outcome:
        """Ask again until it brings no more records."""
        out = nothing()
        for group in self.groups.values():
            out.records.extend(expired(group.classic, group.offsets, self.settings, now.wall))
            if len(out.records) >= EXPIRED_RECORDS_MAX:
                break
        return out

    # -- which groups there are --------------------------------------------------------------------------------------

    def _get_or_add(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = Group(group_id)
        return group

    def _drop_if_void(self, group: Group) -> None:
        if group.is_void:
            self.groups.pop(group.classic.group_id, None)


_HANDLERS: Mapping[type[Any], Callable[[Groups, Command, Now], Outcome]] = {
    JoinGroupRequest: Groups._join,
    SyncGroupRequest: Groups._sync,
    HeartbeatRequest: Groups._heartbeat,
    LeaveGroupRequest: Groups._leave,
    OffsetCommitRequest: Groups._commit,
    OffsetFetchRequest: Groups._fetch,
    OffsetDeleteRequest: Groups._delete_offsets,
    DeleteGroupsRequest: Groups._delete_groups,
    DescribeGroupsRequest: Groups._describe,
    ListGroupsRequest: Groups._list,
}
