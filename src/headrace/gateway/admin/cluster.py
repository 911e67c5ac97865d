"""The cluster: its brokers, what they hold, and moving everything off one of them; plans are shown before they are begun."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from headrace.admin import moves
from headrace.admin.admin import Admin
from headrace.admin.moves import Plan, Planner, plan_view
from headrace.admin.status import status_of
from headrace.admin.survey import survey
from headrace.base.errors import Refused
from headrace.gateway.admin.routing import Broker, Confirm, Shared, admin_router, require_alive
from headrace.wire.messages.cluster import DescribeLogDirsResult

router = admin_router("cluster")


class BrokerShown(BaseModel):
    broker: int
    address: str
    rack: str | None
    alive: bool
    controller: bool
    leads: Annotated[int, Field(description="Partitions that it leads.")]
    replicas: Annotated[int, Field(description="Partitions that it has a replica of.")]
    in_sync: Annotated[int, Field(description="… of which so many are in sync.")]
    bytes: Annotated[int, Field(description="What its logs take on disk.")]
    free_bytes: int | None


class PartitionTroubled(BaseModel):
    topic: str
    partition: int
    leader: int | None
    replicas: list[int]
    isr: list[int]
    adding: list[int]
    removing: list[int]
    lag: Annotated[dict[str, int | None], Field(description="Offsets behind, by broker that is not in sync.")]


class ClusterShown(BaseModel):
    cluster_id: str
    controller: int | None
    brokers: list[BrokerShown]
    partitions: int
    offline: list[PartitionTroubled]
    under_replicated: list[PartitionTroubled]
    reassignments: list[PartitionTroubled]
    not_led_by_preferred: int


class ReplicaHeld(BaseModel):
    topic: str
    partition: int
    bytes: int
    lag: Annotated[int | None, Field(description="Offsets behind what is committed; null if not known yet.")]


class LogDirShown(BaseModel):
    path: str
    total_bytes: int | None
    free_bytes: int | None
    replicas: list[ReplicaHeld]


class LogDirs(BaseModel):
    broker: int
    log_dirs: list[LogDirShown]


class MoveShown(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    topic: str
    partition: int
    before: Annotated[list[int], Field(alias="from", description="Replicas now.")]
    to: Annotated[list[int], Field(description="Replicas then, preferred leader first.")]
    bytes: Annotated[int, Field(description="What has to be copied.")]


class PlanShown(BaseModel):
    """A plan, or what was begun: `GET /api/v1/reassignments` shows how far it is."""

    begun: bool
    moves: list[MoveShown]
    bytes: int
    offline: Annotated[list[str], Field(description="Partitions without a leader: these cannot be moved.")]


@router.get("/cluster", summary="How the cluster stands")
async def show_cluster(gateway: Shared) -> ClusterShown:
    return ClusterShown(**status_of(await survey(gateway.admin)))


@router.get("/brokers/{broker}/log-dirs", summary="What a broker holds on disk")
async def log_dirs(broker: Broker, gateway: Shared) -> LogDirs:
    await require_alive(gateway.admin, broker)
    found = await gateway.admin.log_dirs(broker)
    return LogDirs(broker=broker, log_dirs=[_log_dir(each) for each in found.results])


@router.post("/brokers/{broker}/drain", summary="Move everything off a broker; the plan first")
async def drain(broker: Broker, gateway: Shared, confirm: Confirm = False) -> PlanShown:
    """The broker may be dead. Once nothing is on it, it can be taken away."""
    return await _move(gateway.admin, moves.drain(broker), confirm)


@router.post("/cluster/rebalance", summary="Spread replicas and leaders evenly; the plan first")
async def rebalance(gateway: Shared, confirm: Confirm = False) -> PlanShown:
    return await _move(gateway.admin, moves.rebalance, confirm)


async def _move(admin: Admin, planner: Planner, confirm: bool) -> PlanShown:
    seen = await survey(admin)
    plan = planner(seen)
    if confirm and plan:
        await begin(admin, plan)
    return PlanShown(**plan_view(plan, seen), begun=confirm and bool(plan))


async def begin(admin: Admin, plan: Plan) -> None:
    for id, refusal in (await admin.reassign(plan)).items():
        raise Refused(refusal.code, f"{id} was not moved: {refusal.message}")


def _log_dir(found: DescribeLogDirsResult) -> LogDirShown:
    return LogDirShown(
        path=found.log_dir,
        total_bytes=found.total_bytes if found.total_bytes >= 0 else None,
        free_bytes=found.usable_bytes if found.usable_bytes >= 0 else None,
        replicas=[
            ReplicaHeld(
                topic=topic.name,
                partition=part.partition_index,
                bytes=part.partition_size,
                lag=part.offset_lag if part.offset_lag >= 0 else None,
            )
            for topic in found.topics
            for part in topic.partitions
        ],
    )
