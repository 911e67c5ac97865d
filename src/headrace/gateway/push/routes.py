"""The paths of push: events of a topic or of a group, as server-sent events to a GET and as messages to a WebSocket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Path, Query, Response, WebSocket

from headrace.base import topic_names
from headrace.gateway.gateway import Gateway
from headrace.gateway.gateway import gateway as shared
from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.problem import Problem
from headrace.gateway.push import socket as sockets
from headrace.gateway.push.group_stream import GroupStream
from headrace.gateway.push.hub import Hub
from headrace.gateway.push.listener import PushListener
from headrace.gateway.push.positions import PARTITIONS_MAX
from headrace.gateway.push.sse import EventStream
from headrace.gateway.push.start import Start, check_not_too_many, parse_id, readable_partitions, starting_positions
from headrace.gateway.push.stream import ENDS
from headrace.gateway.segments import Name

router = APIRouter(tags=["push"])

PARTITION_MAX = 2**31 - 1
Shared = Annotated[Gateway, Depends(shared)]
Topic = Annotated[str, Path(min_length=1, max_length=topic_names.LENGTH_MAX, pattern=topic_names.PATTERN)]
STREAM: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: {"description": "Events, without end.", "content": {"text/event-stream": {}}}},
}


class ListenerQuery:
    """The request of a listener."""

    def __init__(
        self,
        topic: Topic,
        partition: Annotated[
            list[Annotated[int, Query(ge=0, le=PARTITION_MAX)]],
            Query(max_length=PARTITIONS_MAX, description="Only these; all, and those that are added, if not given."),
        ] = [],  # noqa: B006  FastAPI reads it
        start: Annotated[Start, Query(description="Where to begin, without an id.")] = "latest",
        after: Annotated[str, Query(description="Go on after the event with this id.")] = "",
        last_event_id: Annotated[
            str, Header(description="The same, as browsers send it when they come back; it goes before `after`.")
        ] = "",
        encoding: Annotated[Encoding, Query(description="How keys and values are written.")] = "auto",
    ) -> None:
        self.topic = topic
        self.partitions = sorted(set(partition))
        self.start = start
        self.after = last_event_id or after
        self.encoding = encoding

    @asynccontextmanager
    async def opened(self, gateway: Gateway) -> AsyncIterator[PushListener]:
        positions = await starting_positions(gateway.client, self.topic, self.partitions, self.start, self.after)
        listener = PushListener(gateway.part(Hub), self.topic, positions, all_partitions=not self.partitions)
        with gateway.part(Hub).keeping(listener):
            yield listener


@router.get("/api/v1/topics/{topic}/events", summary="Messages as they come", **STREAM)
async def events(asked: Annotated[ListenerQuery, Depends()], gateway: Shared) -> Response:
    """Server-sent events. The `id` of each says all that is needed to go on after it: send it as Last-Event-ID, which
    browsers do by themselves. An event `gap` tells of messages that retention took, `end` why the stream ends."""
    return EventStream(asked.opened(gateway), asked.encoding, gateway.part(Hub).sent)


@router.websocket("/api/v1/topics/{topic}/events")
async def socket(websocket: WebSocket, asked: Annotated[ListenerQuery, Depends()], gateway: Shared) -> None:
    try:
        async with asked.opened(gateway) as listener:
            await websocket.accept()
            await sockets.push(websocket, listener, asked.encoding, _nothing_to_say, gateway.part(Hub).sent)
    except ENDS as error:
        await sockets.close(websocket, error)


async def _nothing_to_say(_: str) -> None:
    raise Problem(422, "Nothing to say", "a listener of a topic sends nothing", "POST messages instead")


class AskedOfGroup:
    """The request of a listener that is a member of a group."""

    def __init__(
        self,
        group: Annotated[Name, Path(min_length=1, max_length=topic_names.LENGTH_MAX)],
        topic: Annotated[str, Query(min_length=1, max_length=topic_names.LENGTH_MAX, pattern=topic_names.PATTERN)],
        start: Annotated[Start, Query(description="Where a group without commits begins.")] = "latest",
        after: Annotated[str, Query(description="Go on after the event with this id, not after the last commit.")] = "",
        last_event_id: Annotated[
            str, Header(description="The same, as browsers send it when they come back; it goes before `after`.")
        ] = "",
        encoding: Annotated[Encoding, Query(description="How keys and values are written.")] = "auto",
    ) -> None:
        self.group = group
        self.topic = topic
        self.start = start
        self.after = last_event_id or after
        self.encoding = encoding

    @asynccontextmanager
    async def opened(self, gateway: Gateway, commits_itself: bool) -> AsyncIterator[GroupStream]:
        after = parse_id(self.after) if self.after else {}
        there = await readable_partitions(gateway.client, self.topic, sorted(after))
        check_not_too_many(self.topic, len(there))
        stream = GroupStream(gateway, self.group, self.topic, self.start, after, commits_itself)
        with gateway.part(Hub).keeping_member(stream):
            yield stream


@router.get("/api/v1/consumer-groups/{group}/events", summary="A group's messages as they come", **STREAM)
async def group_events(asked: Annotated[AskedOfGroup, Depends()], gateway: Shared) -> Response:
    """Events for a member of the group: it shares the partitions with all others. What the connection has taken is
    committed; come back with the id of the last event to have again what was lost on the way.
    """
    return EventStream(asked.opened(gateway, commits_itself=True), asked.encoding, gateway.part(Hub).sent)


@router.websocket("/api/v1/consumer-groups/{group}/events")
async def group_socket(websocket: WebSocket, asked: Annotated[AskedOfGroup, Depends()], gateway: Shared) -> None:
    """The client commits, by sending {"commit": "<id of an event>"}."""
    try:
        async with asked.opened(gateway, commits_itself=False) as stream:
            await websocket.accept()
            sent = gateway.part(Hub).sent
            await sockets.push(websocket, stream, asked.encoding, lambda text: _commit(stream, text), sent)
    except ENDS as error:
        await sockets.close(websocket, error)


async def _commit(stream: GroupStream, text: str) -> None:
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict) or said.keys() != {"commit"} or not isinstance(said["commit"], str):
        raise Problem(422, "Invalid message", "a member of a group sends commits", 'such as {"commit": "0:17,1:4"}')
    stream.commit(parse_id(said["commit"]))


@router.get("/api/v1/push", summary="Who listens to this gateway")
async def listeners(gateway: Shared) -> dict[str, int]:
    return {"listeners": gateway.part(Hub).listeners}
