"""Leadership given back to the preferred replicas; or, where nobody may lead without loss, given to any."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from headrace.admin.elections import election_view, hold_elections, plan_elections
from headrace.admin.survey import survey
from headrace.gateway.admin.routing import Confirm, RequestBody, Shared, TopicName, admin_router

router = admin_router("cluster")


class ElectionAsked(RequestBody):
    model_config = ConfigDict(json_schema_extra={"example": {"type": "preferred", "topics": ["orders"]}})

    type: Annotated[
        Literal["preferred", "unclean"],
        Field(
            description="`unclean` lets a replica lead that may lack acknowledged messages, where none other is alive."
        ),
    ] = "preferred"
    topics: Annotated[
        list[TopicName], Field(default_factory=list, description="Of these topics; of all, if none is named.")
    ]


class ElectionShown(BaseModel):
    topic: str
    partition: int
    leader: Annotated[int | None, Field(description="Who leads now.")]
    then: Annotated[int, Field(description="Who would lead.")]
    replicas: list[int]
    isr: list[int]
    error: str | None = None


class Elections(BaseModel):
    held: bool
    elections: list[ElectionShown]


@router.post("/elections", summary="Elect leaders; the plan first")
async def elect(asked: ElectionAsked, gateway: Shared, confirm: Confirm = False) -> Elections:
    unclean = asked.type == "unclean"
    plan = plan_elections(await survey(gateway.admin), asked.topics, unclean)
    shown = [ElectionShown(**election_view(each)) for each in plan]
    if not confirm or not plan:
        return Elections(held=False, elections=shown)
    for each, refusal in zip(shown, await hold_elections(gateway.admin, plan, unclean), strict=True):
        each.error = None if refusal is None else refusal.message
    return Elections(held=True, elections=shown)
