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
from headrace.base.outcome import TimerKey
from headrace.groups import member_requests, offset_requests, operator_requests
from headrace.groups.classic.records import GroupRecord
from headrace.groups.classic.timers import on_classic_loaded, on_classic_timer
from headrace.groups.commits import TransactionalCommit
from headrace.groups.consumer.timers import on_consumer_loaded, on_consumer_timer
from headrace.groups.conversion import downgrade_if_due
from headrace.groups.expiry import expired
from headrace.groups.invariants import assert_generation_rises
from headrace.groups.offsets.records import OffsetRecord
from headrace.groups.outcome import Command, GroupOutcome, nothing
from headrace.groups.records import Record
from headrace.groups.settings import GroupSettings
from headrace.groups.table import GroupTable
from headrace.groups.topics import Topics
from headrace.wire.messages.group_offsets import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest
from headrace.wire.messages.groups_admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from headrace.wire.messages.groups_consumer import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest

# Expiry stops after the group that reaches this many records, and goes on at the next call.
EXPIRED_RECORDS_MAX = 10_000


class Groups:
    def __init__(self, settings: GroupSettings) -> None:
        self.table = GroupTable(settings)
        self._in_transaction: dict[int, dict[str, None]] = {}
        self._unapplied = 0
        """Records that were decided and are not applied yet: until they are there is no other decision, but commits after
        commits, since none is decided by another's offsets."""
        self._are_commits = True

    # -- stored state ------------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        self._unapplied = max(0, self._unapplied - 1)
        group = self.table.get_or_add(record.group_id)
        group.apply(record)
        self.table.drop_if_void(group)

    def apply_pending(self, producer_id: int, record: Record) -> None:
        """Applies a record of a batch that is part of a transaction; offsets are all that a transaction holds."""
        self._unapplied = max(0, self._unapplied - 1)
        if isinstance(record, OffsetRecord):
            self.table.get_or_add(record.group_id).offsets.apply_pending(producer_id, record)
            self._in_transaction.setdefault(producer_id, {})[record.group_id] = None

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """Commits or drops pending offsets: the marker of this producer's transaction is in the log."""
        for group_id in self._in_transaction.pop(producer_id, {}):
            group = self.table.get_or_add(group_id)
            group.offsets.end_transaction(producer_id, commit)
            self.table.drop_if_void(group)

    def on_loaded(self, now: Now) -> GroupOutcome:
        """Starts timers after the last record of a load. The topics have to be known by then."""
        out = nothing()
        for group in self.table.groups.values():
            if group.consumer is not None:
                with self.table.decision(group.consumer, now, out) as decision:
                    on_consumer_loaded(decision)
            else:
                on_classic_loaded(group.classic, self.table.settings, now, out)
        return self._decided(out)

    # -- decisions ---------------------------------------------------------------------------------------------------

    def handle(self, command: Command, now: Now) -> GroupOutcome:
        kind = type(command.request)
        return self._decided(_HANDLERS[kind](self.table, command, now), is_commit=kind is OffsetCommitRequest)

    def _decided(self, out: GroupOutcome, is_commit: bool = False) -> GroupOutcome:
        may_wait = not self._unapplied or (is_commit and self._are_commits)
        assert may_wait, f"a decision before {self._unapplied} records of the last one were applied"
        self._unapplied += len(out.records)
        self._are_commits = is_commit
        if not is_commit:
            self._assert_follow(out)
        return out

    def _assert_follow(self, out: GroupOutcome) -> None:
        """The records of consumer groups follow each other, and are looked at as they are written."""
        for record in out.records:
            group = self.table.get(record.group_id)
            if group is not None and self.table.is_whole and isinstance(record, GroupRecord):
                assert_generation_rises(group, record)

    def on_timer(self, key: TimerKey, now: Now) -> GroupOutcome:
        out, table = nothing(), self.table
        group = table.get(key[1])
        if group is None:
            return out
        if group.consumer is not None:
            with table.decision(group.consumer, now, out) as decision:
                on_consumer_timer(decision, key)
                downgrade_if_due(group, decision)
        else:
            on_classic_timer(group.classic, key, table.settings, now, out)
        table.drop_if_void(group)
        return self._decided(out)

    def on_topics(self, topics: Topics) -> None:
        """Takes in the topics of now. A consumer group looks at them when its next member reports."""
        self.table.topics = topics

    def on_topics_deleted(self, is_gone: Callable[[str, bytes], bool]) -> GroupOutcome:
        """Deletes the offsets of topics that are gone, so that a topic made anew under an old name starts without them.

        `is_gone` is asked with the name and the id at the commit (zero when not known). Call it after loading too.
        """
        out = nothing()
        for group in self.table.groups.values():
            out.records.extend(group.offsets.tombstones(lambda topic, committed: is_gone(topic, committed.topic_id)))
        return self._decided(out)

    def expire(self, now: Now, knows_ages: bool = True) -> GroupOutcome:
        """Deletes expired offsets and groups. Call again until it brings no more records. `knows_ages` as in
        `expiry.expired`."""
        out = nothing()
        for group in self.table.groups.values():
            out.records.extend(expired(group, self.table.settings, now.wall, knows_ages))
            if len(out.records) >= EXPIRED_RECORDS_MAX:
                break
        return self._decided(out)


_HANDLERS: Mapping[type[Any], Callable[[GroupTable, Command, Now], GroupOutcome]] = {
    JoinGroupRequest: member_requests.join,
    SyncGroupRequest: member_requests.sync,
    HeartbeatRequest: member_requests.heartbeat,
    LeaveGroupRequest: member_requests.leave,
    ConsumerGroupHeartbeatRequest: member_requests.consumer_heartbeat,
    OffsetCommitRequest: offset_requests.commit,
    TransactionalCommit: offset_requests.commit_in_transaction,
    OffsetFetchRequest: offset_requests.fetch,
    OffsetDeleteRequest: offset_requests.delete_offsets,
    DeleteGroupsRequest: operator_requests.delete_groups,
    DescribeGroupsRequest: operator_requests.describe_classic_groups,
    ConsumerGroupDescribeRequest: operator_requests.describe_consumer_groups,
    ListGroupsRequest: operator_requests.list_groups,
}
