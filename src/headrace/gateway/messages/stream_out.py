"""GET of a stream: a record per line, to the end that was there when it began, or for as long as the reader stays.

A page is fetched when the one before it is written: a slow reader slows the fetches, and one page is all it holds here.
What goes wrong after the first line can no longer be a status; it is the last line, as {"error": {…}}.
"""

from collections.abc import AsyncIterator

import orjson

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient
from headrace.gateway.messages.outgoing import Encoding
from headrace.gateway.messages.page import Limits, Page, read_page
from headrace.gateway.problem import EXPECTED, problem_of

FOLLOW_WAIT_SECONDS = 10.0


async def lines(
    client: ClusterClient,
    id: TopicPartition,
    offset: int,
    first: Page,
    limits: Limits,
    encoding: Encoding,
    count_max: int | None,
) -> AsyncIterator[bytes]:
    """`first` was read, from the offset, before the status was sent. With a wait in `limits` it follows the log;
    `count_max` ends it."""
    page, end = first, first.high_watermark
    while True:
        yield b"".join(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE) for message in page.messages)
        if count_max is not None:
            count_max -= len(page.messages)
            limits = limits._replace(records=min(limits.records, count_max))
        # Where an open transaction begins, a reader of committed records comes no further.
        is_end = page.next_offset >= end or page.next_offset == offset
        if count_max == 0 or (is_end and not limits.wait_seconds):
            return
        offset = page.next_offset
        try:
            page = await read_page(client, id, page.next_offset, limits, encoding)
        except EXPECTED as error:
            yield orjson.dumps({"error": problem_of(error).fields()}) + b"\n"
            return
