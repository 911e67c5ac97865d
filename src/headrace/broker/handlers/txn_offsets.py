"""TxnOffsetCommit: offsets of a group as part of a producer's transaction. Goes to the group's coordinator."""

from typing import Any

from headrace.broker.coordinators.group import GroupCoordinator
from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.coordinators.transaction_checks import COME_BACK, TransactionChecks
from headrace.broker.handlers.groups import take_out_unknown
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.net.requests_in_order import Pending
from headrace.groups.commits import TransactionalCommit
from headrace.groups.refusals import refused_commit
from headrace.partition.verification import Verification
from headrace.txns.questions import AddPartitions
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from headrace.wire.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ADDS_SINCE_TXN_OFFSET_COMMIT = 5
ABORTABLE_SINCE_TXN_OFFSET_COMMIT = 4


def handle_txn_offset_commit(
    view: View, groups: GroupCoordinators, checks: TransactionChecks, request: Request
) -> Pending:
    pending = request.defer()
    request.connection.requests.run(_commit(view, groups, checks, request, pending))
    return pending


async def _commit(
    view: View, groups: GroupCoordinators, checks: TransactionChecks, request: Request, pending: Pending
) -> None:
    asked = _as_commit(request.body)
    refusals = take_out_unknown(view.image, asked.commit.topics, by_id=False)

    def answer(response: Any) -> None:
        pending.complete(_as_txn_response(response, refusals))

    coordinator = groups.of(request.body.group_id)
    if coordinator is None:
        is_ours = groups.homes.is_ours(request.body.group_id)
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_ours else ErrorCode.NOT_COORDINATOR
        answer(refused_commit(asked.commit, code))
        return
    verification, code = None, ErrorCode.NONE
    if not coordinator.partition.verifications.is_in_transaction(asked.producer_id, asked.producer_epoch):
        verification = coordinator.partition.verifications.begin(asked.producer_id, asked.producer_epoch)
        code = await _until_checked(view, checks, request, coordinator, verification)
    if code is not ErrorCode.NONE:
        answer(refused_commit(asked.commit, code))
    else:
        coordinator.commit_in_transaction(asked, verification, answer)


async def _until_checked(
    view: View, checks: TransactionChecks, request: Request, coordinator: GroupCoordinator, verification: Verification
) -> ErrorCode:
    body: TxnOffsetCommitRequest = request.body
    adds = request.version >= ADDS_SINCE_TXN_OFFSET_COMMIT
    if not adds and not view.config.flag("transaction.partition.verification.enable"):
        return ErrorCode.NONE
    partition = coordinator.partition.id
    question = AddPartitions(
        body.transactional_id,
        body.producer_id,
        body.producer_epoch,
        frozenset({partition}),
        not adds,
        client_version=2 if adds else 1,
    )
    code = (await checks.until_checked(question))[partition]
    if code is ErrorCode.NONE:
        return code
    coordinator.partition.verifications.drop(body.producer_id, verification)
    if code in COME_BACK:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and request.version < ABORTABLE_SINCE_TXN_OFFSET_COMMIT:
        return ErrorCode.INVALID_TXN_STATE
    return code


def _as_commit(body: TxnOffsetCommitRequest) -> TransactionalCommit:
    topics = [
        OffsetCommitRequestTopic(
            name=topic.name,
            partitions=[
                OffsetCommitRequestPartition(
                    part.partition_index, part.committed_offset, part.committed_leader_epoch, part.committed_metadata
                )
                for part in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    commit = OffsetCommitRequest(
        group_id=body.group_id,
        generation_id_or_member_epoch=body.generation_id,
        member_id=body.member_id,
        group_instance_id=body.group_instance_id,
        topics=topics,
    )
    return TransactionalCommit(commit, body.producer_id, body.producer_epoch)


def _as_txn_response(response: OffsetCommitResponse, refusals: dict[Any, list[Any]]) -> TxnOffsetCommitResponse:
    topics: dict[str, list[TxnOffsetCommitResponsePartition]] = {}
    parts = [(topic.name, topic.partitions) for topic in response.topics]
    parts += [(name, refused) for (name, _), refused in refusals.items()]
    for name, partitions in parts:
        topics.setdefault(name, []).extend(
            TxnOffsetCommitResponsePartition(part.partition_index, part.error_code) for part in partitions
        )
    return TxnOffsetCommitResponse(
        0, [TxnOffsetCommitResponseTopic(name, partitions) for name, partitions in topics.items()]
    )
