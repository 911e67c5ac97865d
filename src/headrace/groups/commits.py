"""OffsetCommit and TxnOffsetCommit to a group of either kind.

Offsets committed inside a transaction count when the transaction does, and not before. Such a commit that names no member
is believed, as old clients name none (KIP-447 came later): then only the transaction's own fencing keeps a zombie out.
"""

from typing import NamedTuple

from headrace.base.clock import Now
from headrace.groups.classic.offsets import check_commit_in_transaction, decide_classic_commit
from headrace.groups.consumer.offsets import EPOCHS_SINCE, judge_commit
from headrace.groups.group import Group
from headrace.groups.offsets.commit import Verdict, accept_all, store_commit
from headrace.groups.outcome import Command, GroupOutcome, answered
from headrace.groups.refusals import refused_commit
from headrace.groups.settings import GroupSettings
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import OffsetCommitRequest


class TransactionalCommit(NamedTuple):
    """A TxnOffsetCommit, with the fields that any commit has as one."""

    commit: OffsetCommitRequest
    producer_id: int
    producer_epoch: int

    @property
    def names_a_member(self) -> bool:
        commit = self.commit
        return bool(
            commit.generation_id_or_member_epoch >= 0 or commit.member_id or commit.group_instance_id is not None
        )


def decide_commit(group: Group | None, command: Command, settings: GroupSettings, now: Now) -> GroupOutcome:
    if group is not None and group.consumer is not None:
        return store_commit(command, judge_commit(group.consumer, command.request, command.version), settings, now)
    return decide_classic_commit(None if group is None else group.classic, command, settings, now)


def decide_transactional_commit(
    group: Group | None, command: Command, settings: GroupSettings, now: Now
) -> GroupOutcome:
    asked: TransactionalCommit = command.request
    judge: Verdict = accept_all
    if asked.names_a_member:
        if group is not None and group.consumer is not None:
            judge = judge_commit(group.consumer, asked.commit, EPOCHS_SINCE)
        else:
            code = check_commit_in_transaction(None if group is None else group.classic, asked.commit)
            if code is not ErrorCode.NONE:
                return answered(command, refused_commit(asked.commit, code))
    out = store_commit(command._replace(request=asked.commit), judge, settings, now)
    out.producer = asked.producer_id, asked.producer_epoch
    return out
