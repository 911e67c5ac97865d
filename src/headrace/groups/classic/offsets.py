"""The members of a classic group that may commit offsets: those of its generation, and anybody while it is empty."""

from headrace.base.clock import Now
from headrace.groups.classic.group import ClassicGroup, GroupState
from headrace.groups.classic.sessions import renew_session
from headrace.groups.offsets.commit import accept_all, store_commit
from headrace.groups.outcome import Command, GroupOutcome, answered
from headrace.groups.refusals import refused_commit
from headrace.groups.settings import GroupSettings
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import OffsetCommitRequest

GROUP_MUST_EXIST_SINCE = 9
# Not while members have no assignment yet: a commit would be of partitions that are somebody else's.
_MAY_COMMIT = (GroupState.EMPTY, GroupState.PREPARING_REBALANCE, GroupState.STABLE)


def decide_classic_commit(
    group: ClassicGroup | None, command: Command, settings: GroupSettings, now: Now
) -> GroupOutcome:
    request: OffsetCommitRequest = command.request
    code = _check(group, request, command.version)
    if code is not ErrorCode.NONE:
        return answered(command, refused_commit(request, code))
    assert group is None or group.state in _MAY_COMMIT, group.state
    out = store_commit(command, accept_all, settings, now)
    if group is not None and request.member_id in group.members:
        renew_session(group, request.member_id, now, out)
    return out


def _check(group: ClassicGroup | None, request: OffsetCommitRequest, version: int) -> ErrorCode:
    generation, member_id = request.generation_id_or_member_epoch, request.member_id
    if group is None and generation >= 0:
        return ErrorCode.GROUP_ID_NOT_FOUND if version >= GROUP_MUST_EXIST_SINCE else ErrorCode.ILLEGAL_GENERATION
    if group is None or (generation < 0 and group.state is GroupState.EMPTY):
        # The sender is a consumer that assigns its own partitions, or an administrator.
        return ErrorCode.NONE
    code = group.check_generation(member_id, request.group_instance_id, generation)
    if code is ErrorCode.NONE and group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return code


def check_commit_in_transaction(group: ClassicGroup | None, commit: OffsetCommitRequest) -> ErrorCode:
    """The code for a commit inside a transaction. Unlike a plain one it passes during a rebalance, or could not go on."""
    generation, member_id = commit.generation_id_or_member_epoch, commit.member_id
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.NONE if generation < 0 else ErrorCode.ILLEGAL_GENERATION
    return group.check_generation(member_id, commit.group_instance_id, generation)
