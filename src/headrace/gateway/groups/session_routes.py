"""Reading as a member of a group: open a session, poll it, commit what was dealt with, leave."""

import re
from typing import Annotated, Any, Literal, Self

import orjson
from fastapi import Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from headrace.admin.topics import find_topic
from headrace.base.ids import TopicPartition
from headrace.gateway.admin.routing import INT64_MAX, Group, RequestBody, Shared, TopicName, admin_router
from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.offsets import Commits, CommittedList, commit_as_session
from headrace.gateway.groups.reader import partition_of
from headrace.gateway.groups.session import GroupSession, Polled
from headrace.gateway.groups.sessions import Sessions
from headrace.gateway.groups.views import PartitionNamed
from headrace.gateway.known_topics import SECRET, check_readable
from headrace.gateway.messages.outgoing import Encoding, render_record
from headrace.gateway.push.records import record_of
from headrace.gateway.segments import encode_name

DEFAULT_COUNT = 100
IDLE_MS_DEFAULT = 60_000
ASSIGNORS = {"range": "range", "roundrobin": "roundrobin", "cooperative": "cooperative-sticky"}

router = admin_router("group sessions", prefix="/api/v1/consumer-groups/{group}/sessions")

Id = Annotated[str, Path(min_length=1, max_length=100, description="As it was given when the session was opened.")]


class SessionAsked(RequestBody):
    """`topics`, or a `pattern` that names of topics match, those that are made later too."""

    model_config = ConfigDict(json_schema_extra={"example": {"topics": ["orders"], "from": "earliest"}})

    topics: Annotated[list[TopicName] | None, Field(min_length=1, max_length=1000)] = None
    pattern: Annotated[str | None, Field(min_length=1, max_length=200, examples=["orders-.*"])] = None
    start: Annotated[
        Literal["earliest", "latest"],
        Field(alias="from", description="Where to begin in a partition that the group has committed nothing of."),
    ] = "earliest"
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    assignor: Literal["range", "roundrobin", "cooperative"] = "range"
    instance: Annotated[
        str | None, Field(min_length=1, max_length=249, description="A static member, which may come back (KIP-345).")
    ] = None
    session_timeout_ms: Annotated[
        int, Field(ge=6_000, le=1_800_000, description="After so long without this gateway the group shares out anew.")
    ] = 10_000
    idle_ms: Annotated[
        int, Field(ge=1_000, le=3_600_000, description="A session that nobody comes back to for so long is ended.")
    ] = IDLE_MS_DEFAULT

    @model_validator(mode="after")
    def _one_subscription(self) -> Self:
        if (self.topics is None) == (self.pattern is None):
            raise ValueError("give topics, or a pattern")
        return self

    @property
    def subscription(self) -> list[str]:
        return self.topics if self.topics is not None else ["^" + (self.pattern or "").removeprefix("^")]

    def config(self) -> dict[str, Any]:
        return {
            "auto.offset.reset": self.start,
            "isolation.level": self.isolation,
            "partition.assignment.strategy": ASSIGNORS[self.assignor],
            "session.timeout.ms": self.session_timeout_ms,
            "heartbeat.interval.ms": min(3_000, self.session_timeout_ms // 3),
            # Whatever a pattern matches, these are not there.
            "topic.blacklist": ",".join(f"^{re.escape(topic)}$" for topic in SECRET),
            **({"group.instance.id": self.instance} if self.instance else {}),
        }


class SessionShown(BaseModel):
    session: str
    group: str
    subscribed: list[str]
    assigned: list[PartitionNamed]
    rebalances: Annotated[int, Field(description="How often partitions came or went since the session was opened.")]
    expires_in_ms: Annotated[int, Field(description="When it is ended, unless it is used before.")]


class SessionList(BaseModel):
    sessions: list[SessionShown]


class NextOffset(PartitionNamed):
    offset: int


class PolledShown(BaseModel):
    poll: Annotated[int, Field(description="Give it as `after` with the next poll, and no lost reply loses messages.")]
    messages: Annotated[
        list[dict[str, Any]], Field(description="As when they are read by offset, with topic and partition.")
    ]
    offsets: Annotated[list[NextOffset], Field(description="What to commit when these messages are dealt with.")]
    assigned: list[PartitionNamed]
    revoked: Annotated[list[PartitionNamed], Field(description="Taken away since the last poll: others read on there.")]
    rebalances: int
    errors: Annotated[list[str], Field(description="What the cluster complained of since the last poll.")]


@router.post("", status_code=201, summary="Join a group: open a session")
async def open_session(group: Group, asked: SessionAsked, gateway: Shared, response: Response) -> SessionShown:
    for topic in asked.topics or ():
        check_readable(topic)
        await find_topic(gateway.admin, topic)
    session = gateway.part(Sessions).open(group, asked.subscription, asked.idle_ms / 1000, asked.config())
    response.headers["Location"] = f"/api/v1/consumer-groups/{encode_name(group)}/sessions/{session.id}"
    return SessionShown(**session.view())


@router.get("", summary="Sessions of a group on this gateway")
async def list_sessions(group: Group, gateway: Shared) -> SessionList:
    return SessionList(sessions=[SessionShown(**each.view()) for each in gateway.part(Sessions).of_group(group)])


@router.get("/{session}", summary="Show a session")
async def show_session(group: Group, session: Id, gateway: Shared) -> SessionShown:
    """Looking at it keeps it alive."""
    with _find(gateway, group, session) as found:
        return SessionShown(**found.view())


@router.get("/{session}/messages", response_model=PolledShown, summary="Poll: the next messages of a session")
async def poll(
    group: Group,
    session: Id,
    gateway: Shared,
    limit: Annotated[int, Query(ge=1, description="The most messages.")] = DEFAULT_COUNT,
    max_bytes: Annotated[
        int | None, Query(ge=1, description="About how many bytes of messages at most; one message in any case.")
    ] = None,
    wait_ms: Annotated[int, Query(ge=0, description="How long to wait for a first message.")] = 0,
    after: Annotated[
        int | None,
        Query(ge=0, le=INT64_MAX, description="`poll` of the last reply; the one before it, to have that again."),
    ] = None,
    encoding: Annotated[Encoding, Query(description="How keys and values are written.")] = "auto",
) -> Response:
    settings = gateway.settings
    bytes_max = min(max_bytes or settings.reply_bytes_max, settings.reply_bytes_max)
    count, wait = min(limit, settings.messages_max), min(wait_ms / 1000, settings.wait_seconds_max)
    polled = await _find(gateway, group, session).poll(count, bytes_max, wait, after)
    return Response(_render(polled, encoding), media_type="application/json")


@router.post("/{session}/offsets", summary="Commit what was dealt with")
async def commit(group: Group, session: Id, wanted: Commits, gateway: Shared) -> CommittedList:
    return await commit_as_session(_find(gateway, group, session), wanted)


@router.delete("/{session}", status_code=204, summary="Leave the group: end a session")
async def close_session(group: Group, session: Id, gateway: Shared) -> None:
    """Closes a session. Its partitions go to the other members at once; messages that it did not commit are read again."""
    await gateway.part(Sessions).close(_find(gateway, group, session))


def _find(gateway: Gateway, group: str, session: str) -> GroupSession:
    return gateway.part(Sessions).find(group, session)


def _render(polled: Polled, encoding: Encoding) -> bytes:
    next_offsets: dict[TopicPartition, int] = {}
    messages = []
    for message in polled.messages:
        id, record = partition_of(message), record_of(message)
        next_offsets[id] = record.offset + 1
        messages.append({"topic": id.topic, "partition": id.partition, **render_record(record, encoding)})
    return orjson.dumps(
        {
            "poll": polled.number,
            "messages": messages,
            "offsets": [{**id._asdict(), "offset": offset} for id, offset in next_offsets.items()],
            "assigned": [id._asdict() for id in polled.assigned],
            "revoked": [id._asdict() for id in polled.revoked],
            "rebalances": polled.rebalances,
            "errors": polled.errors,
        }
    )
