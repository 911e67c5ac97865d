"""The requests about committed offsets: commits, plain and in transactions, reads, and deletions."""

from headrace.base.clock import Now
from headrace.groups.classic.join import NAME_LENGTH_MAX
from headrace.groups.commits import TransactionalCommit, decide_commit, decide_transactional_commit
from headrace.groups.consumer.offsets import check_fetch
from headrace.groups.deletion import decide_delete_offsets
from headrace.groups.offsets.committed import CommittedOffsets
from headrace.groups.offsets.fetch import fetch_group, fetch_one
from headrace.groups.outcome import Command, GroupOutcome, answered
from headrace.groups.refusals import FETCH_MANY_GROUPS_SINCE, refused, refused_commit
from headrace.groups.table import GroupTable
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)


def commit(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    # Unlike members, commits may come under the empty name: clients without a group have always done so.
    if len(command.request.group_id) > NAME_LENGTH_MAX:
        return answered(command, refused_commit(command.request, ErrorCode.INVALID_GROUP_ID))
    return decide_commit(table.get(command.request.group_id), command, table.settings, now)


def commit_in_transaction(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    asked: TransactionalCommit = command.request
    if not 0 < len(asked.commit.group_id) <= NAME_LENGTH_MAX:
        return answered(command, refused_commit(asked.commit, ErrorCode.INVALID_GROUP_ID))
    return decide_transactional_commit(table.get(asked.commit.group_id), command, table.settings, now)


def fetch(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: OffsetFetchRequest = command.request
    if command.version < FETCH_MANY_GROUPS_SINCE:
        return answered(command, fetch_one(request, _offsets(table, request.group_id)))
    groups = [_fetch_group(table, each, request.require_stable) for each in request.groups]
    return answered(command, OffsetFetchResponse(groups=groups))


def _fetch_group(table: GroupTable, asked: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
    group = table.get(asked.group_id)
    code = ErrorCode.NONE if group is None or group.consumer is None else check_fetch(group.consumer, asked)
    if code is not ErrorCode.NONE:
        return OffsetFetchResponseGroup(asked.group_id, [], code)
    return fetch_group(asked, _offsets(table, asked.group_id), require_stable)


def _offsets(table: GroupTable, group_id: str) -> CommittedOffsets:
    group = table.get(group_id)
    return CommittedOffsets(group_id) if group is None else group.offsets


def delete_offsets(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: OffsetDeleteRequest = command.request
    group = table.get(request.group_id)
    if group is not None:
        return decide_delete_offsets(group, command)
    code = ErrorCode.GROUP_ID_NOT_FOUND if request.group_id else ErrorCode.INVALID_GROUP_ID
    return answered(command, refused(request, command.version, code))
