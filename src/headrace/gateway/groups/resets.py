"""A reset of what a group has committed: the plan first, then, with `confirm`, the same done."""

import time
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from headrace.admin.reset import ResetTarget, apply_reset, plan_reset
from headrace.base.ids import TopicPartition
from headrace.base.moments import parse_duration
from headrace.gateway.admin.routing import (
    INT64_MAX,
    Confirm,
    Group,
    Number,
    Offset,
    RequestBody,
    Shared,
    TopicName,
    admin_router,
)
from headrace.gateway.messages.start import parse_time
from headrace.gateway.problem import Problem

ITEMS_MAX = 10_000

router = admin_router("consumer groups")


class Chosen(RequestBody):
    topic: TopicName
    partitions: Annotated[list[Number] | None, Field(min_length=1, description="All of them if left out.")] = None


class Place(RequestBody):
    topic: TopicName
    partition: Number
    offset: Offset


class ResetAsked(RequestBody):
    """Exactly one of `to`, `to_offset`, `to_time`, `by_duration`, `shift_by` and `offsets`."""

    model_config = ConfigDict(json_schema_extra={"example": {"to": "earliest", "topics": [{"topic": "orders"}]}})

    to: Literal["earliest", "latest"] | None = None
    to_offset: Annotated[Offset | None, Field(description="The same in each partition.")] = None
    to_time: Annotated[str | None, Field(max_length=40, description="ISO 8601, or milliseconds since 1970.")] = None
    by_duration: Annotated[str | None, Field(max_length=40, description="So long ago: 2h, 7d, PT15M.")] = None
    shift_by: Annotated[int | None, Field(ge=-INT64_MAX, le=INT64_MAX, description="Forward, or back.")] = None
    offsets: Annotated[list[Place] | None, Field(min_length=1, max_length=ITEMS_MAX)] = None
    topics: Annotated[
        list[Chosen],
        Field(default_factory=list, max_length=1000, description="Only these; all that it has committed if left out."),
    ]

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        ways = (self.to, self.to_offset, self.to_time, self.by_duration, self.shift_by, self.offsets)
        if sum(way is not None for way in ways) != 1:
            raise ValueError("give exactly one of to, to_offset, to_time, by_duration, shift_by and offsets")
        return self

    def target(self) -> ResetTarget:
        if self.to is not None:
            return ResetTarget(self.to)
        if self.to_offset is not None:
            return ResetTarget("offset", self.to_offset)
        if self.to_time is not None:
            return ResetTarget("time", parse_time(self.to_time))
        if self.by_duration is not None:
            return ResetTarget("time", max(0, round(time.time() * 1000) - _duration(self.by_duration)))
        if self.shift_by is not None:
            return ResetTarget("shift", self.shift_by)
        return ResetTarget("each", offsets={TopicPartition(e.topic, e.partition): e.offset for e in self.offsets or ()})

    def chosen(self) -> dict[str, set[int] | None]:
        return {each.topic: None if each.partitions is None else set(each.partitions) for each in self.topics}


class ResetOf(BaseModel):
    topic: str
    partition: int
    before: Annotated[int | None, Field(description="null where nothing was committed.")]
    after: int
    skipped: Annotated[int, Field(description="Messages that nobody would read.")]
    repeated: Annotated[int, Field(description="Messages that would be read again.")]


class ResetShown(BaseModel):
    group: str
    applied: bool
    skipped: int
    repeated: int
    partitions: list[ResetOf]


@router.post("/consumer-groups/{group}/offsets/reset", summary="Reset what a group has committed; the plan first")
async def reset(group: Group, asked: ResetAsked, gateway: Shared, confirm: Confirm = False) -> ResetShown:
    """Refused while the group has members."""
    resets = await plan_reset(gateway.admin, group, asked.chosen(), asked.target())
    if confirm:
        await apply_reset(gateway.admin, group, resets)
    return ResetShown(
        group=group,
        applied=confirm,
        skipped=sum(each.skipped for each in resets),
        repeated=sum(each.repeated for each in resets),
        partitions=[ResetOf(**each.view()) for each in resets],
    )


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError:
        raise Problem(
            422, "Invalid duration", f"by_duration {text} is none", "use 90s, 15m, 2h30m, 7d or PT2H"
        ) from None
