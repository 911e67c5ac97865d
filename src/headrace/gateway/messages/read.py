"""GET of messages: a page, or a stream of lines, from where a query says."""

import contextlib
from typing import NamedTuple

import orjson
from starlette.responses import Response

from headrace.base.ids import TopicPartition
from headrace.gateway.gateway import Gateway
from headrace.gateway.known_topics import check_readable
from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.messages.page import Limits, expected_bytes, first_offset, read_page
from headrace.gateway.messages.start import Start
from headrace.gateway.messages.stream_in import NDJSON
from headrace.gateway.messages.stream_out import FOLLOW_WAIT_SECONDS, lines
from headrace.gateway.problem import Problem
from headrace.gateway.steady import SteadyResponse, SteadyStream

DEFAULT_LIMIT = 100
STREAM_PAGE_BYTES = 256 << 10
AWAITED_BYTES = 64 << 10


class MessagesQuery(NamedTuple):
    """The checked query of a GET of messages."""

    start: Start
    limit: int | None = None
    max_bytes: int | None = None
    wait_ms: int = 0
    encoding: Encoding = "auto"
    read_committed: bool = True
    follow: bool = False
    as_lines: bool = False

    def limits(self, gateway: Gateway) -> Limits:
        settings = gateway.settings
        count = self.limit or (settings.messages_max if self.as_lines else DEFAULT_LIMIT)
        if count > settings.messages_max and not self.as_lines:
            raise Problem(
                422, "Invalid limit", f"limit={count}", f"ask for at most {settings.messages_max} (messages_max)"
            )
        if self.max_bytes is not None:
            self._check_bytes(settings.reply_bytes_max)
        wait = FOLLOW_WAIT_SECONDS if self.follow else min(self.wait_ms / 1000, settings.wait_seconds_max)
        bytes_max = STREAM_PAGE_BYTES if self.as_lines else self.max_bytes or settings.reply_bytes_max
        return Limits(min(count, settings.messages_max), bytes_max, wait, self.read_committed)

    def _check_bytes(self, bytes_max: int) -> None:
        fix = f"ask for at most {bytes_max} (reply_bytes_max)"
        if self.as_lines:
            fix = "lines come for as long as there are any: bound them with limit"
        if self.as_lines or (self.max_bytes or 0) > bytes_max:
            raise Problem(422, "Invalid max_bytes", f"max_bytes={self.max_bytes}", fix)


async def read_messages(gateway: Gateway, topic: str, partition: int | None, asked: MessagesQuery) -> Response:
    """The partition may be left out where there is only one."""
    check_readable(topic)
    limits = asked.limits(gateway)
    id = TopicPartition(topic, await _only_partition(gateway, topic) if partition is None else partition)
    offset = asked.start.offset
    if offset is None:
        offset = await first_offset(gateway.client, id, asked.start.at)
    if asked.as_lines:
        return await _read_lines(gateway, id, offset, limits, asked)
    intake, at_once = gateway.intake, limits._replace(wait_seconds=0.0)
    with intake.held(expected_bytes(id, at_once)):
        page = await read_page(gateway.client, id, offset, at_once, asked.encoding)
    if limits.wait_seconds and not page.messages:
        # Many may wait at once, and all of them are answered at once.
        little = limits._replace(bytes=min(limits.bytes, AWAITED_BYTES))
        with intake.poll():
            page = await read_page(gateway.client, id, page.next_offset, little, asked.encoding)
    return SteadyResponse(orjson.dumps(page._asdict()), "application/json", intake)


async def _read_lines(
    gateway: Gateway, id: TopicPartition, offset: int, limits: Limits, asked: MessagesQuery
) -> Response:
    with contextlib.ExitStack() as stack:
        stack.enter_context(gateway.intake.poll())
        first = await read_page(gateway.client, id, offset, limits._replace(wait_seconds=0.0), asked.encoding)
        stream = lines(gateway.client, id, offset, first, limits, asked.encoding, asked.limit)
        return SteadyStream(stream, NDJSON, gateway.intake.seconds_max, stack.pop_all())


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
