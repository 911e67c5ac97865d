"""Partitions on the move from some brokers to others: shown with progress, begun by hand, cancelled."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from headrace.admin.moves import Plan, moving_view, plan_view
from headrace.admin.survey import Survey, survey
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.gateway.admin.cluster import PlanShown, begin
from headrace.gateway.admin.routing import Confirm, Number, RequestBody, Shared, TopicName, admin_router
from headrace.wire.codes import ErrorCode

ITEMS_MAX = 10_000

router = admin_router("reassignments")


class Moving(BaseModel):
    topic: str
    partition: int
    leader: int | None
    replicas: Annotated[list[int], Field(description="Those that it will have.")]
    adding: list[int]
    removing: list[int]
    copied_bytes: int
    total_bytes: int


class MovingList(BaseModel):
    reassignments: list[Moving]


class NewReplicas(RequestBody):
    topic: TopicName
    partition: Number
    replicas: Annotated[list[Number], Field(min_length=1, description="Preferred leader first.")]


class Reassignment(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"example": {"partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3, 4]}]}}
    )

    partitions: Annotated[list[NewReplicas], Field(min_length=1, max_length=ITEMS_MAX)]


@router.get("/reassignments", summary="Show partitions that are moving, and how far they are")
async def list_reassignments(gateway: Shared) -> MovingList:
    return _moving(await survey(gateway.admin))


@router.post("/reassignments", summary="Give partitions other replicas; the plan first")
async def reassign(wanted: Reassignment, gateway: Shared, confirm: Confirm = False) -> PlanShown:
    seen = await survey(gateway.admin)
    plan: Plan = {}
    for each in wanted.partitions:
        id = TopicPartition(each.topic, each.partition)
        if id not in seen.partitions:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {id}")
        plan[id] = tuple(each.replicas)
    if confirm:
        await begin(gateway.admin, plan)
    return PlanShown(**plan_view(plan, seen), begun=confirm)


@router.delete("/reassignments", summary="Cancel all moves: what was being added goes again")
async def cancel(gateway: Shared) -> MovingList:
    """The reply lists those that were cancelled."""
    seen = await survey(gateway.admin)
    if seen.moving:
        for id, refusal in (await gateway.admin.reassign(dict.fromkeys(each.id for each in seen.moving))).items():
            if refusal.code != ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                raise Refused(refusal.code, f"the move of {id} goes on: {refusal.message}")
    return _moving(seen)


def _moving(seen: Survey) -> MovingList:
    return MovingList(reassignments=[Moving(**moving_view(each)) for each in seen.moving])
