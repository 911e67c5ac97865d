"""The paths of both dialects, and what OpenAPI says of them. The work is in `post`, `page` and the streams."""

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, NamedTuple

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from headrace.base.ids import TopicPartition
from headrace.gateway.gateway import Gateway
from headrace.gateway.gateway import gateway as shared
from headrace.gateway.known_topics import check_readable
from headrace.gateway.messages import describe
from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.messages.page import Limits, first_offset, read_page
from headrace.gateway.messages.post import post_messages
from headrace.gateway.messages.start import Start, parse_start
from headrace.gateway.messages.stream_in import NDJSON
from headrace.gateway.messages.stream_out import FOLLOW_WAIT_SECONDS, lines
from headrace.gateway.problem import Problem
from headrace.gateway.steady import SteadyResponse, SteadyStream

router = APIRouter(tags=["messages"])

DEFAULT_LIMIT = 100
STREAM_PAGE_BYTES = 1 << 20
PARTITION_MAX = 2**31 - 1

Shared = Annotated[Gateway, Depends(shared)]
Topic = Annotated[str, Path(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._-]+$")]


@router.post("/api/v1/topics/{topic}/messages", summary="Store messages", **describe.POST)
@router.post("/topics/{topic}/messages", summary="Store messages (short dialect)", **describe.POST)
async def store(request: Request, topic: Topic, gateway: Shared) -> Response:
    return await post_messages(gateway, request, topic)


def post_routes() -> dict[str, BaseRoute]:
    """Those of POST: with the long path, and with the short one."""
    paths = {"long": "/api/v1/topics/{topic}/messages", "short": "/topics/{topic}/messages"}
    posts = [route for route in router.routes if isinstance(route, APIRoute) and "POST" in (route.methods or ())]
    return {name: next(route for route in posts if route.path == path) for name, path in paths.items()}


class Asked(NamedTuple):
    """What a GET wants to read: the query, checked."""

    start: Start
    limit: int | None
    wait_ms: int
    encoding: Encoding
    read_committed: bool
    follow: bool
    as_lines: bool

    def limits(self, gateway: Gateway) -> Limits:
        settings = gateway.settings
        count = self.limit or (settings.messages_max if self.as_lines else DEFAULT_LIMIT)
        if count > settings.messages_max and not self.as_lines:
            raise Problem(
                422, "Invalid limit", f"limit={count}", f"ask for at most {settings.messages_max} (messages_max)"
            )
        wait = FOLLOW_WAIT_SECONDS if self.follow else min(self.wait_ms / 1000, settings.wait_seconds_max)
        bytes_max = STREAM_PAGE_BYTES if self.as_lines else settings.reply_bytes_max
        return Limits(min(count, settings.messages_max), bytes_max, wait, self.read_committed)


async def asked_for(
    request: Request,
    offset: Annotated[
        str | None, Query(description="Where to begin: a number, `earliest` or `latest`; `earliest` if not given.")
    ] = None,
    time: Annotated[
        str | None, Query(description="Begin with the first message at or after it: milliseconds, or ISO 8601.")
    ] = None,
    limit: Annotated[int | None, Query(ge=1, description="The most messages; 100 if not given.")] = None,
    wait_ms: Annotated[int, Query(ge=0, description="How long to wait for a first message.")] = 0,
    follow: Annotated[bool, Query(description="A stream of lines that does not end by itself.")] = False,
    encoding: Annotated[Encoding, Query(description="How keys and values are written.")] = "auto",
    isolation: Annotated[
        str, Query(pattern="^read_(un)?committed$", description="Whether open transactions are shown.")
    ] = "read_committed",
) -> Asked:
    """Not a class: what is no coroutine the framework runs in a thread."""
    as_lines = follow or NDJSON in request.headers.get("accept", "")
    read_committed = isolation == "read_committed"
    return Asked(parse_start(offset, time), limit, wait_ms, encoding, read_committed, follow, as_lines)


Wanted = Annotated[Asked, Depends(asked_for)]


@router.get("/api/v1/topics/{topic}/partitions/{partition}/messages", summary="Read messages", **describe.GET)
async def read(
    topic: Topic, partition: Annotated[int, Path(ge=0, le=PARTITION_MAX)], asked: Wanted, gateway: Shared
) -> Response:
    check_readable(topic)
    return await _read(gateway, TopicPartition(topic, partition), asked)


@router.get("/topics/{topic}/messages", summary="Read messages (short dialect)", **describe.GET)
async def read_short(
    topic: Topic,
    asked: Wanted,
    gateway: Shared,
    partition: Annotated[
        int | None, Query(ge=0, le=PARTITION_MAX, description="Needed where the topic has more than one.")
    ] = None,
) -> Response:
    check_readable(topic)
    if partition is None:
        partition = await _only_partition(gateway, topic)
    return await _read(gateway, TopicPartition(topic, partition), asked)


async def _only_partition(gateway: Gateway, topic: str) -> int:
    partitions = (await gateway.client.metadata([topic])).topics[topic].partitions
    if len(partitions) > 1:
        raise Problem(
            422,
            "Partition missing",
            f"topic {topic} has {len(partitions)} partitions",
            "name one of them with ?partition=0",
        )
    return 0


async def _read(gateway: Gateway, id: TopicPartition, asked: Asked) -> Response:
    limits = asked.limits(gateway)
    offset = asked.start.offset
    if offset is None:
        offset = await first_offset(gateway.client, id, asked.start.at)
    if asked.as_lines:
        first = await read_page(gateway.client, id, offset, limits._replace(wait_seconds=0.0), asked.encoding)
        stream = lines(gateway.client, id, first, limits, asked.encoding, asked.limit)
        return SteadyStream(_counted(gateway, stream), NDJSON, gateway.intake.seconds_max)
    with gateway.intake.poll() if limits.wait_seconds else contextlib.nullcontext():
        page = await read_page(gateway.client, id, offset, limits, asked.encoding)
    return SteadyResponse(orjson.dumps(page._asdict()), "application/json", gateway.intake)


async def _counted(gateway: Gateway, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    with gateway.intake.poll():
        async for part in stream:
            yield part
