"""Offsets committed inside a transaction: they count when the transaction does, and not before.

A commit that names no member is believed, as old clients name none (KIP-447 came later): then only the transaction's
own fencing keeps a zombie out.
"""

from typing import NamedTuple

from headrace.base.clock import Now
from headrace.groups.consumer_offsets import EPOCHS_SINCE, Verdict, accept_all, judge_commit
from headrace.groups.group import Group
from headrace.groups.offsets import store_commit
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


def decide_transactional_commit(
    group: Group | None, command: Command, settings: GroupSettings, now: Now
) -> GroupOutcome:
    asked: TransactionalCommit = command.request
    judge: Verdict = accept_all
    if asked.names_a_member:
        if group is not None and group.consumer is not None:
            judge = judge_commit(group.consumer, asked.commit, EPOCHS_SINCE)
        else:
            code = _check_classic(group, asked.commit)
            if code is not ErrorCode.NONE:
                return answered(command, refused_commit(asked.commit, code))
    out = store_commit(command._replace(request=asked.commit), judge, settings, now)
    out.producer = asked.producer_id, asked.producer_epoch
    return out


def _check_classic(group: Group | None, commit: OffsetCommitRequest) -> ErrorCode:
    """The code for a commit to a classic group. Unlike a plain commit it passes during a rebalance, or could not go on."""
    generation, member_id = commit.generation_id_or_member_epoch, commit.member_id
    if group is None or group.is_empty:
        return ErrorCode.NONE if generation < 0 else ErrorCode.ILLEGAL_GENERATION
    return group.classic.check_generation(member_id, commit.group_instance_id, generation)
