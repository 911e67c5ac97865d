"""Shared parts of the administration's routers: their dependency, names in paths, and errors in OpenAPI."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from headrace.admin.admin import Admin
from headrace.base import topic_names
from headrace.base.errors import Refused
from headrace.gateway.gateway import Gateway
from headrace.gateway.gateway import gateway as shared
from headrace.gateway.problem import PROBLEM_REPLY
from headrace.gateway.segments import Name
from headrace.wire.codes import ErrorCode

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
GROUP_CHARACTERS_MAX = 249

Shared = Annotated[Gateway, Depends(shared)]
TopicName = Annotated[
    str, Field(min_length=1, max_length=topic_names.LENGTH_MAX, pattern=topic_names.PATTERN, examples=["orders"])
]
Topic = Annotated[
    str, Path(min_length=1, max_length=topic_names.LENGTH_MAX, pattern=topic_names.PATTERN, examples=["orders"])
]
Group = Annotated[Name, Path(min_length=1, max_length=GROUP_CHARACTERS_MAX, examples=["billing"])]
Broker = Annotated[int, Path(ge=0, le=INT32_MAX, examples=[1])]
Number = Annotated[int, Field(ge=0, le=INT32_MAX)]
Offset = Annotated[int, Field(ge=0, le=INT64_MAX)]
Confirm = Annotated[bool, Query(description="Without it the plan is shown and nothing is done.")]


class RequestBody(BaseModel):
    """A body: a field with an unknown name is a mistake, and a number is not written as text."""

    model_config = ConfigDict(extra="forbid", strict=True)


PROBLEMS: dict[int | str, dict[str, Any]] = {"default": PROBLEM_REPLY, 422: PROBLEM_REPLY}


def admin_router(tag: str, prefix: str = "/api/v1") -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], responses=PROBLEMS)


async def require_alive(admin: Admin, broker_id: int) -> None:
    brokers = (await admin.describe_cluster()).brokers
    if broker_id not in {each.broker_id for each in brokers}:
        known = ", ".join(str(each.broker_id) for each in brokers)
        raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {broker_id}; the brokers are {known}")
    if any(each.broker_id == broker_id and each.is_fenced for each in brokers):
        raise Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is not alive")
