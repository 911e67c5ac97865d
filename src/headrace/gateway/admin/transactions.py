"""Transactional ids: which are known, and what each has open."""

import time
from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, Field

from headrace.admin.transactions import describe_transaction, list_transactions
from headrace.base.errors import Refused
from headrace.gateway.admin.routing import Shared, admin_router
from headrace.gateway.segments import Name
from headrace.wire.codes import ErrorCode

router = admin_router("transactions")


class TransactionListed(BaseModel):
    id: str
    state: str
    coordinator: int
    producer_id: int


class TransactionList(BaseModel):
    transactions: list[TransactionListed]


class OpenPartition(BaseModel):
    topic: str
    partition: int


class TransactionShown(TransactionListed):
    producer_epoch: int
    timeout_ms: int
    running_ms: Annotated[int | None, Field(description="null when none is open.")]
    partitions: list[OpenPartition]


@router.get("/transactions", summary="List transactional ids")
async def list_all(
    gateway: Shared,
    state: Annotated[
        list[str], Query(default_factory=list, max_length=20, description="Only these: Ongoing, CompleteCommit, …")
    ],
    longer_than_ms: Annotated[int, Query(ge=-1, le=2**63 - 1, description="Open for longer than this.")] = -1,
) -> TransactionList:
    listed = await list_transactions(gateway.admin, state, longer_than_ms=longer_than_ms)
    return TransactionList(
        transactions=[
            TransactionListed(
                id=each.transactional_id, state=each.state, coordinator=each.coordinator, producer_id=each.producer_id
            )
            for each in listed
        ]
    )


@router.get("/transactions/{transactional_id}", summary="Describe one transactional id")
async def describe(
    transactional_id: Annotated[Name, Path(min_length=1, max_length=1000)], gateway: Shared
) -> TransactionShown:
    try:
        coordinator, found = await describe_transaction(gateway.admin, transactional_id)
    except Refused as refusal:
        if refusal.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise Refused(refusal.code, f"there is no transactional id {transactional_id}") from None
        raise
    began = found.transaction_start_time_ms
    return TransactionShown(
        id=transactional_id,
        state=found.transaction_state,
        coordinator=coordinator,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        timeout_ms=found.transaction_timeout_ms,
        running_ms=None if began < 0 else max(0, int(time.time() * 1000) - began),
        partitions=[
            OpenPartition(topic=topic.topic, partition=index) for topic in found.topics for index in topic.partitions
        ],
    )
