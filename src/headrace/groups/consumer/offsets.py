"""The members of a consumer group that may commit and fetch offsets: those that hold the epoch they were last told.

A commit may carry an older epoch, since the answer that brought the newer one crosses it on the way: it counts for the
partitions that the member has held ever since.
"""

from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.offsets.commit import Verdict, accept_all
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import OffsetCommitRequest, OffsetFetchRequestGroup

EPOCHS_SINCE = 9


def judge_commit(group: ConsumerGroup, request: OffsetCommitRequest, version: int) -> Verdict:
    epoch, member_id = request.generation_id_or_member_epoch, request.member_id
    if epoch < 0 and not group.members:
        return accept_all
    code = _check_sender(group, member_id, request.group_instance_id)
    if code is not ErrorCode.NONE:
        return lambda topic_id, partition: code
    current = group.current_of(member_id)
    if group.members[member_id].classic is not None:
        wrong = ErrorCode.NONE if epoch == current.epoch else ErrorCode.ILLEGAL_GENERATION
        return lambda topic_id, partition: wrong
    if version < EPOCHS_SINCE:
        return lambda topic_id, partition: ErrorCode.UNSUPPORTED_VERSION
    if epoch == current.epoch:
        return accept_all
    if epoch > current.epoch:
        return lambda topic_id, partition: ErrorCode.STALE_MEMBER_EPOCH
    held = {**current.assigned, **current.revoking}

    def judge_older(topic_id: bytes, partition: int) -> ErrorCode:
        since = held.get((topic_id, partition))
        return ErrorCode.STALE_MEMBER_EPOCH if since is None or epoch < since else ErrorCode.NONE

    return judge_older


def _check_sender(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    if instance_id is not None:
        owner = group.member_id_of_instance.get(instance_id)
        if owner is not None and owner != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def check_fetch(group: ConsumerGroup, request: OffsetFetchRequestGroup) -> ErrorCode:
    """The code for an OffsetFetch. One that names no member is of an operator, or of a client that has not joined."""
    if not request.member_id and request.member_epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(request.member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if request.member_epoch == group.current_of(member.member_id).epoch:
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
