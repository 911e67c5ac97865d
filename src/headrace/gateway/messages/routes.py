"""The paths of both dialects, and what OpenAPI says of them. The work is in `post` and `read`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from headrace.base import topic_names
from headrace.gateway.gateway import Gateway
from headrace.gateway.gateway import gateway as shared
from headrace.gateway.messages import describe
from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.messages.post import post_messages
from headrace.gateway.messages.read import MessagesQuery, read_messages
from headrace.gateway.messages.start import parse_start
from headrace.gateway.messages.stream_in import NDJSON

router = APIRouter(tags=["messages"])

PARTITION_MAX = 2**31 - 1

Shared = Annotated[Gateway, Depends(shared)]
Topic = Annotated[str, Path(min_length=1, max_length=topic_names.LENGTH_MAX, pattern=topic_names.PATTERN)]


@router.post("/api/v1/topics/{topic}/messages", summary="Store messages", **describe.POST)
@router.post("/topics/{topic}/messages", summary="Store messages (short dialect)", **describe.POST)
async def store(request: Request, topic: Topic, gateway: Shared) -> Response:
    return await post_messages(gateway, request, topic)


def fast_routes() -> dict[tuple[str, str], BaseRoute]:
    """The message routes by method and path: `FastLane` serves them, and names them for the counts of requests."""
    routes = [route for route in router.routes if isinstance(route, APIRoute)]
    return {(method, route.path): route for route in routes for method in route.methods or ()}


async def asked_for(
    request: Request,
    offset: Annotated[
        str | None, Query(description="Where to begin: a number, `earliest` or `latest`; `earliest` if not given.")
    ] = None,
    time: Annotated[
        str | None, Query(description="Begin with the first message at or after it: milliseconds, or ISO 8601.")
    ] = None,
    limit: Annotated[int | None, Query(ge=1, description="The most messages; 100 if not given.")] = None,
    max_bytes: Annotated[
        int | None, Query(ge=1, description="About how many bytes of messages at most; one message in any case.")
    ] = None,
    wait_ms: Annotated[int, Query(ge=0, description="How long to wait for a first message.")] = 0,
    follow: Annotated[bool, Query(description="A stream of lines that does not end by itself.")] = False,
    encoding: Annotated[Encoding, Query(description="How keys and values are written.")] = "auto",
    isolation: Annotated[
        str, Query(pattern="^read_(un)?committed$", description="Whether open transactions are shown.")
    ] = "read_committed",
) -> MessagesQuery:
    """The query of a GET, checked. A coroutine, since the framework runs any other callable in a thread."""
    as_lines = follow or NDJSON in request.headers.get("accept", "")
    read_committed = isolation == "read_committed"
    return MessagesQuery(
        parse_start(offset, time), limit, max_bytes, wait_ms, encoding, read_committed, follow, as_lines
    )


Wanted = Annotated[MessagesQuery, Depends(asked_for)]


@router.get("/api/v1/topics/{topic}/partitions/{partition}/messages", summary="Read messages", **describe.GET)
async def read(
    topic: Topic, partition: Annotated[int, Path(ge=0, le=PARTITION_MAX)], asked: Wanted, gateway: Shared
) -> Response:
    return await read_messages(gateway, topic, partition, asked)


@router.get("/topics/{topic}/messages", summary="Read messages (short dialect)", **describe.GET)
async def read_short(
    topic: Topic,
    asked: Wanted,
    gateway: Shared,
    partition: Annotated[
        int | None, Query(ge=0, le=PARTITION_MAX, description="Needed where the topic has more than one.")
    ] = None,
) -> Response:
    return await read_messages(gateway, topic, partition, asked)
