"""The groups of one partition of __consumer_offsets: the entry point for the shell.

    outcome = groups.handle(command, now)      also on_timer, expire, on_topics_deleted
    append outcome.records as one batch; for each of them groups.apply(record); set outcome.timers
    when the high watermark has passed the append: send outcome.replies

Between a decision and the `apply` of its records there is no other decision, but of OffsetCommits several in a row. If the
append fails, the whole object is dropped and a new one is loaded later, so nothing is ever undone. To load: `apply` every
record of the log, in order, then `on_loaded` once; members of a loaded group go on in their generation.

Requests that name many groups come here with only those of this partition; the shell splits and joins them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.base.outcome import Reply, TimerKey
from headrace.groups.classic import ClassicGroup, GroupState
from headrace.groups.consumer import ConsumerGroup
from headrace.groups.consumer_checks import JOIN, check_form, check_sender
from headrace.groups.consumer_describe import describe_consumer
from headrace.groups.consumer_heartbeat import decide_consumer_heartbeat, refuse_heartbeat
from headrace.groups.consumer_offsets import judge_commit
from headrace.groups.consumer_records import ConsumerRecord
from headrace.groups.consumer_sessions import renew_consumer_session
from headrace.groups.consumer_timers import on_consumer_loaded, on_consumer_timer
from headrace.groups.conversion import downgrade, end_classic, end_consumer, is_downgradable, upgraded
from headrace.groups.decision import Decision
from headrace.groups.deletion import decide_delete_offsets, delete_group
from headrace.groups.describe import describe_classic, list_groups
from headrace.groups.expiry import expired
from headrace.groups.group import Group
from headrace.groups.heartbeats import decide_heartbeat, on_pending_timer, on_session_timer
from headrace.groups.join import NAME_LENGTH_MAX, decide_join
from headrace.groups.leave import decide_leave
from headrace.groups.mixed_members import (
    decide_mixed_heartbeat,
    decide_mixed_join,
    decide_mixed_leave,
    decide_mixed_sync,
)
from headrace.groups.offset_fetch import fetch_group, fetch_one
from headrace.groups.offsets import CommittedOffsets, decide_commit, store_commit
from headrace.groups.outcome import Command, GroupOutcome, answered, nothing
from headrace.groups.rebalance import (
    await_syncs,
    on_join_timer,
    on_sync_timer,
    open_join_phase,
)
from headrace.groups.records import OffsetRecord, Record
from headrace.groups.refusals import (
    FETCH_MANY_GROUPS_SINCE,
    refused,
    refused_commit,
    refused_leave,
)
from headrace.groups.sessions import renew_session
from headrace.groups.settings import GroupSettings
from headrace.groups.sync import decide_sync
from headrace.groups.topics import NO_TOPICS, Sight, Topics
from headrace.groups.transactional_commit import TransactionalCommit, decide_transactional_commit
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
from headrace.wire.messages.groups_consumer import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
)

# Expiry stops after the group that reaches this many records, and goes on at the next call.
EXPIRED_RECORDS_MAX = 10_000


class Groups:
    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.groups: dict[str, Group] = {}
        self._in_transaction: dict[int, dict[str, None]] = {}
        self.topics = NO_TOPICS
        self._unapplied = 0
        """Records that were decided and are not applied yet: until they are there is no other decision, but commits after
        commits, since none is decided by another's offsets."""
        self._are_commits = True

    # -- stored state ------------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        self._unapplied = max(0, self._unapplied - 1)
        group = self._get_or_add(record.group_id)
        group.apply(record)
        self._drop_if_void(group)

    def apply_pending(self, producer_id: int, record: Record) -> None:
        """Applies a record of a batch that is part of a transaction; offsets are all that a transaction holds."""
        self._unapplied = max(0, self._unapplied - 1)
        if isinstance(record, OffsetRecord):
            self._get_or_add(record.group_id).offsets.apply_pending(producer_id, record)
            self._in_transaction.setdefault(producer_id, {})[record.group_id] = None

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """Commits or drops pending offsets: the marker of this producer's transaction is in the log."""
        for group_id in self._in_transaction.pop(producer_id, {}):
            group = self._get_or_add(group_id)
            group.offsets.end_transaction(producer_id, commit)
            self._drop_if_void(group)

    def on_loaded(self, now: Now) -> GroupOutcome:
        """Starts timers after the last record of a load. The topics have to be known by then."""
        out = nothing()
        for group in self.groups.values():
            if group.consumer is not None:
                on_consumer_loaded(self._decision(group.consumer, now, out))
            else:
                self._resume_classic(group.classic, now, out)
        return self._decided(out)

    def _resume_classic(self, classic: ClassicGroup, now: Now, out: GroupOutcome) -> None:
        for member_id in classic.members:
            renew_session(classic, member_id, now, out)
        if classic.state is GroupState.COMPLETING_REBALANCE:
            await_syncs(classic, now, out)
        if len(classic.members) > self.settings.group_max_size:
            open_join_phase(classic, now, out)

    # -- members of classic groups -----------------------------------------------------------------------------------

    def handle(self, command: Command, now: Now) -> GroupOutcome:
        is_commit = type(command.request) is OffsetCommitRequest
        return self._decided(_HANDLERS[type(command.request)](self, command, now), is_commit)

    def _decided(self, out: GroupOutcome, is_commit: bool = False) -> GroupOutcome:
        may_wait = not self._unapplied or (is_commit and self._are_commits)
        assert may_wait, f"a decision before {self._unapplied} records of the last one were applied"
        self._unapplied += len(out.records)
        self._are_commits = is_commit
        return out

    def _join(self, command: Command, now: Now) -> GroupOutcome:
        request: JoinGroupRequest = command.request
        code = self._check_join(request)
        if code is not ErrorCode.NONE:
            return answered(command, refused(request, command.version, code))
        group = self._get_or_add(request.group_id)
        if group.consumer is not None and not group.is_empty:
            return self._in_consumer_group(group, command, decide_mixed_join, now)
        out = nothing()
        if group.consumer is not None:
            end_consumer(group, out)
        decide_join(group.classic, command, self.settings, now, out)
        self._drop_if_void(group)
        return out

    def _check_join(self, request: JoinGroupRequest) -> ErrorCode:
        if not request.group_id or len(request.group_id) > NAME_LENGTH_MAX:
            return ErrorCode.INVALID_GROUP_ID
        shortest, longest = self.settings.group_min_session_timeout_ms, self.settings.group_max_session_timeout_ms
        if not shortest <= request.session_timeout_ms <= longest:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if request.member_id and request.group_id not in self.groups:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def _sync(self, command: Command, now: Now) -> GroupOutcome:
        return self._as_member(command, decide_sync, decide_mixed_sync, now)

    def _heartbeat(self, command: Command, now: Now) -> GroupOutcome:
        return self._as_member(command, decide_heartbeat, decide_mixed_heartbeat, now)

    def _as_member(
        self,
        command: Command,
        decide: Callable[[ClassicGroup, Command, Now], GroupOutcome],
        decide_mixed: Callable[[Decision, Command], None],
        now: Now,
    ) -> GroupOutcome:
        group = self.groups.get(command.request.group_id)
        if group is not None and group.consumer is not None:
            return self._in_consumer_group(group, command, decide_mixed, now)
        if group is not None:
            return decide(group.classic, command, now)
        code = ErrorCode.UNKNOWN_MEMBER_ID if command.request.group_id else ErrorCode.INVALID_GROUP_ID
        return answered(command, refused(command.request, command.version, code))

    def _leave(self, command: Command, now: Now) -> GroupOutcome:
        request: LeaveGroupRequest = command.request
        if not request.group_id:
            return answered(command, refused(request, command.version, ErrorCode.INVALID_GROUP_ID))
        group = self.groups.get(request.group_id)
        if group is None:
            return answered(command, refused_leave(request, command.version, ErrorCode.UNKNOWN_MEMBER_ID))
        if group.consumer is not None:
            return self._in_consumer_group(group, command, decide_mixed_leave, now)
        outcome = decide_leave(group.classic, command, now)
        self._drop_if_void(group)
        return outcome

    def _in_consumer_group(
        self, group: Group, command: Command, decide: Callable[[Decision, Command], None], now: Now
    ) -> GroupOutcome:
        out = nothing()
        assert group.consumer is not None
        decide(self._decision(group.consumer, now, out, command.sight), command)
        self._downgrade_if_due(group, now, out)
        return out

    # -- members of consumer groups ----------------------------------------------------------------------------------

    def _consumer_heartbeat(self, command: Command, now: Now) -> GroupOutcome:
        request: ConsumerGroupHeartbeatRequest = command.request
        out = nothing()
        try:
            check_form(request, command.version, self.settings)
            consumer, conversion = self._consumer_for(request, now)
            decision = self._decision(consumer, now, out, command.sight)
            check_sender(decision, request)
        except Refused as refusal:
            return answered(command, refuse_heartbeat(refusal))
        group = self._get_or_add(request.group_id)
        if group.consumer is None:
            self._upgrade(group, decision, conversion)
        decide_consumer_heartbeat(decision, command)
        self._downgrade_if_due(group, now, out)
        return out

    def _consumer_for(
        self, request: ConsumerGroupHeartbeatRequest, now: Now
    ) -> tuple[ConsumerGroup, list[ConsumerRecord]]:
        """The consumer group of a request, and the records that make it one if it is classic as yet."""
        group = self.groups.get(request.group_id)
        if group is not None and group.consumer is not None:
            return group.consumer, []
        if request.member_epoch != JOIN:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no consumer group {request.group_id}")
        consumer, conversion = ConsumerGroup(request.group_id), []
        if group is not None and not group.is_empty:
            conversion = upgraded(group.classic, self.topics, self.settings, now)
        for record in conversion:
            consumer.apply(record)
        return consumer, conversion

    def _upgrade(self, group: Group, decision: Decision, conversion: list[ConsumerRecord]) -> None:
        end_classic(group, decision.out)
        decision.out.records.extend(conversion)
        group.consumer = decision.group
        for member_id in decision.group.members:
            renew_consumer_session(decision, member_id)

    def _downgrade_if_due(self, group: Group, now: Now, out: GroupOutcome) -> None:
        if group.consumer is not None and is_downgradable(group.consumer, self.settings):
            downgrade(group, self.topics, now, out)

    def _consumer_describe(self, command: Command, now: Now) -> GroupOutcome:
        request: ConsumerGroupDescribeRequest = command.request
        described = [
            describe_consumer(self.groups.get(group_id), group_id, self.topics, self.settings)
            for group_id in request.group_ids
        ]
        return answered(command, ConsumerGroupDescribeResponse(groups=described))

    def _decision(self, consumer: ConsumerGroup, now: Now, out: GroupOutcome, sight: Sight | None = None) -> Decision:
        return Decision(consumer, self.topics, self.settings, now, out, sight)

    # -- offsets -----------------------------------------------------------------------------------------------------

    def _commit(self, command: Command, now: Now) -> GroupOutcome:
        # Unlike members, commits may come under the empty name: clients without a group have always done so.
        if len(command.request.group_id) > NAME_LENGTH_MAX:
            return answered(command, refused_commit(command.request, ErrorCode.INVALID_GROUP_ID))
        group = self.groups.get(command.request.group_id)
        if group is not None and group.consumer is not None:
            judge = judge_commit(group.consumer, command.request, command.version)
            return store_commit(command, judge, self.settings, now)
        return decide_commit(None if group is None else group.classic, command, self.settings, now)

    def _commit_in_transaction(self, command: Command, now: Now) -> GroupOutcome:
        asked: TransactionalCommit = command.request
        if not 0 < len(asked.commit.group_id) <= NAME_LENGTH_MAX:
            return answered(command, refused_commit(asked.commit, ErrorCode.INVALID_GROUP_ID))
        return decide_transactional_commit(self.groups.get(asked.commit.group_id), command, self.settings, now)

    def _fetch(self, command: Command, now: Now) -> GroupOutcome:
        request: OffsetFetchRequest = command.request
        if command.version < FETCH_MANY_GROUPS_SINCE:
            return answered(command, fetch_one(request, self._offsets(request.group_id)))
        groups = [
            fetch_group(each, self._consumer_of(each.group_id), self._offsets(each.group_id), request.require_stable)
            for each in request.groups
        ]
        return answered(command, OffsetFetchResponse(groups=groups))

    def _offsets(self, group_id: str) -> CommittedOffsets:
        group = self.groups.get(group_id)
        return CommittedOffsets(group_id) if group is None else group.offsets

    def _consumer_of(self, group_id: str) -> ConsumerGroup | None:
        group = self.groups.get(group_id)
        return None if group is None else group.consumer

    # -- operators ---------------------------------------------------------------------------------------------------

    def _delete_offsets(self, command: Command, now: Now) -> GroupOutcome:
        request: OffsetDeleteRequest = command.request
        group = self.groups.get(request.group_id)
        if group is not None:
            return decide_delete_offsets(group, command)
        code = ErrorCode.GROUP_ID_NOT_FOUND if request.group_id else ErrorCode.INVALID_GROUP_ID
        return answered(command, refused(request, command.version, code))

    def _delete_groups(self, command: Command, now: Now) -> GroupOutcome:
        request: DeleteGroupsRequest = command.request
        out = nothing()
        # A group named twice would be written twice; the second answer is that of the first.
        codes = {group_id: self._delete_group(group_id, out) for group_id in dict.fromkeys(request.groups_names)}
        results = [DeletableGroupResult(group_id, codes[group_id]) for group_id in request.groups_names]
        out.replies.append(Reply(command.ticket, DeleteGroupsResponse(results=results)))
        return out

    def _delete_group(self, group_id: str, out: GroupOutcome) -> ErrorCode:
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        code = delete_group(group, out)
        self._drop_if_void(group)
        return code

    def _describe(self, command: Command, now: Now) -> GroupOutcome:
        request: DescribeGroupsRequest = command.request
        described = [describe_classic(self.groups.get(name), name, command.version) for name in request.groups]
        return answered(command, DescribeGroupsResponse(groups=described))

    def _list(self, command: Command, now: Now) -> GroupOutcome:
        return answered(command, ListGroupsResponse(groups=list_groups(self.groups.values(), command.request)))

    # -- timers and topics ------------------------------------------------------------------------------------------

    def on_timer(self, key: TimerKey, now: Now) -> GroupOutcome:
        out = nothing()
        group = self.groups.get(key[1])
        if group is None:
            return out
        if group.consumer is not None:
            on_consumer_timer(self._decision(group.consumer, now, out), key)
            self._downgrade_if_due(group, now, out)
        else:
            self._on_classic_timer(group.classic, key, now, out)
        self._drop_if_void(group)
        return self._decided(out)

    def _on_classic_timer(self, classic: ClassicGroup, key: TimerKey, now: Now, out: GroupOutcome) -> None:
        match key:
            case ("session", _, member_id):
                on_session_timer(classic, member_id, now, out)
            case ("pending", _, member_id):
                on_pending_timer(classic, member_id, now, out)
            case ("join", _):
                on_join_timer(classic, self.settings.group_initial_rebalance_delay_ms, now, out)
            case ("sync", _):
                on_sync_timer(classic, now, out)

    def on_topics(self, topics: Topics) -> None:
        """Takes in the topics of now. A consumer group looks at them when its next member reports."""
        self.topics = topics

    def on_topics_deleted(self, is_gone: Callable[[str, bytes], bool]) -> GroupOutcome:
        """Deletes the offsets of topics that are gone, so that a topic made anew under an old name starts without them.

        `is_gone` is asked with the name and the id at the commit (zero when not known). Call it after loading too.
        """
        out = nothing()
        for group in self.groups.values():
            out.records.extend(group.offsets.tombstones(lambda topic, committed: is_gone(topic, committed.topic_id)))
        return self._decided(out)

    def expire(self, now: Now, knows_ages: bool = True) -> GroupOutcome:
        """Deletes expired offsets and groups. Call again until it brings no more records. `knows_ages` as in
        `expiry.expired`."""
        out = nothing()
        for group in self.groups.values():
            out.records.extend(expired(group, self.settings, now.wall, knows_ages))
            if len(out.records) >= EXPIRED_RECORDS_MAX:
                break
        return self._decided(out)

    # -- the list of groups ------------------------------------------------------------------------------------------

    def _get_or_add(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = Group(group_id)
        return group

    def _drop_if_void(self, group: Group) -> None:
        if group.is_void:
            self.groups.pop(group.group_id, None)


_HANDLERS: Mapping[type[Any], Callable[[Groups, Command, Now], GroupOutcome]] = {
    JoinGroupRequest: Groups._join,
    SyncGroupRequest: Groups._sync,
    HeartbeatRequest: Groups._heartbeat,
    LeaveGroupRequest: Groups._leave,
    ConsumerGroupHeartbeatRequest: Groups._consumer_heartbeat,
    ConsumerGroupDescribeRequest: Groups._consumer_describe,
    OffsetCommitRequest: Groups._commit,
    TransactionalCommit: Groups._commit_in_transaction,
    OffsetFetchRequest: Groups._fetch,
    OffsetDeleteRequest: Groups._delete_offsets,
    DeleteGroupsRequest: Groups._delete_groups,
    DescribeGroupsRequest: Groups._describe,
    ListGroupsRequest: Groups._list,
}
