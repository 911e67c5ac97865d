"""Whether this process lives (/health), and whether it can do its work (/ready): two questions with two answers.

A load balancer asks the second, whoever restarts processes the first: a gateway is not to be killed because brokers are.
"""

import asyncio
from typing import Annotated

from fastapi import Request
from pydantic import BaseModel, Field

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.admin.routing import admin_router
from headrace.gateway.callers.hello import Hello
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import unreachable

READY_SECONDS_MAX = 5.0

router = admin_router("health", prefix="")


class Health(BaseModel):
    status: str = "ok"


class Readiness(BaseModel):
    """The status; where callers log in, no more than that is told, since nobody has to for this path."""

    status: str = "ready"
    brokers: Annotated[int | None, Field(description="Those that are alive.")]
    controller: int | None
    partitions_without_leader: int | None


@router.get("/health", summary="Whether the gateway lives")
async def health() -> Health:
    return Health()


@router.get("/ready", summary="Whether brokers answer and some partition has a leader")
async def ready(request: Request) -> Readiness:
    own: Gateway = request.app.state.gateway
    if own.trust is not None:
        await own.part(Hello).require()
        return Readiness(brokers=None, controller=None, partitions_without_leader=None)
    return await _ready(own)


async def _ready(gateway: Gateway) -> Readiness:
    try:
        async with asyncio.timeout(READY_SECONDS_MAX):
            found = await gateway.admin.metadata()
    except (Disconnected, Refused, TimeoutError) as error:
        raise unreachable(f"no broker answers: {error or 'not in time'}") from None
    leaders = [part.leader_id for topic in found.topics for part in topic.partitions]
    if leaders and max(leaders) < 0:
        raise unreachable(f"none of {len(leaders)} partitions has a leader")
    return Readiness(
        brokers=len(found.brokers),
        controller=found.controller_id if found.controller_id >= 0 else None,
        partitions_without_leader=sum(leader < 0 for leader in leaders),
    )
