"""The client that reads without a consumer: metadata, offsets and batches of one broker, and what it refuses."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clients.client import Record as Sent
from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient, OffsetAt, whole_batches
from headrace.client.connection import Disconnected
from headrace.wire.batch import iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record, build_batch, read_records

DEADLINE_SECONDS = 60


def run(bootstrap: str, question: Callable[[ClusterClient], Awaitable[Any]]) -> Any:
    async def ask() -> Any:
        client = ClusterClient(bootstrap, client_id="test")
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await question(client)
        finally:
            await client.close()

    return asyncio.run(ask())


def records_in(batches: memoryview) -> list[Record]:
    return [record for start, _ in iter_headers(batches) for record in read_records(batches[start:])]


def test_metadata_of_one_topic_and_of_one_that_is_not_there(bootstrap, new_topic, new_name):
    topic, missing = new_topic(partitions=3), new_name()
    seen = run(bootstrap, lambda client: client.metadata([topic, missing]))
    assert list(seen.topics[topic].partitions) == [0, 1, 2]
    assert seen.topics[topic].partitions[0].leader in seen.brokers
    assert seen.topics[missing].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert seen.cluster_id


def test_what_was_sent_is_fetched_with_offsets_at_both_ends(bootstrap, reference, topic):
    reference.produce(topic, [Sent(None, f"v{i}".encode(), (), 1_700_000_000_000 + i) for i in range(100)])
    id = TopicPartition(topic, 0)

    async def look(client):
        ends = await client.offsets({id: EARLIEST}), await client.offsets({id: LATEST})
        at = await client.offsets({id: 1_700_000_000_042})
        beyond = await client.offsets({id: 1_900_000_000_000})
        return ends, at, beyond, await client.fetch(id, 40)

    (first, last), at, beyond, fetched = run(bootstrap, look)
    assert (first[id].offset, last[id].offset) == (0, 100)
    assert at[id] == OffsetAt(42, 1_700_000_000_042)
    assert beyond[id].offset == -1
    assert (fetched.high_watermark, fetched.log_start_offset, fetched.next_offset) == (100, 0, 100)
    wanted = [record for record in records_in(fetched.batches) if record.offset >= 40]
    assert [record.value for record in wanted] == [f"v{i}".encode() for i in range(40, 100)]


def test_a_fetch_that_waits_holds_up_nobody_else(bootstrap, topic):
    id = TopicPartition(topic, 0)

    async def look(client):
        await client.offsets({id: LATEST})
        waiting = asyncio.create_task(client.fetch(id, 0, wait_ms=30_000))
        await asyncio.sleep(0)
        await client.fetch(id, 0, wait_ms=1)
        await client.offsets({id: LATEST})
        was_waiting = not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return was_waiting

    assert run(bootstrap, look)


def test_what_cannot_be_had_is_refused_at_once(bootstrap, topic, new_name):
    async def codes(client):
        refused = []
        for id, offset in [
            (TopicPartition(new_name(), 0), 0),
            (TopicPartition(topic, 7), 0),
            (TopicPartition(topic, 0), 9),
        ]:
            with pytest.raises(Refused) as caught:
                await client.fetch(id, offset)
            refused.append(caught.value.code)
        return refused

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert run(bootstrap, codes) == [unknown, unknown, ErrorCode.OFFSET_OUT_OF_RANGE]


def test_an_address_where_nobody_is_and_one_that_is_none():
    with pytest.raises(Disconnected, match=r"127\.0\.0\.1:1"):
        run("127.0.0.1:1", lambda client: client.metadata())
    with pytest.raises(UserError, match="HOST:PORT"):
        run("nowhere", lambda client: client.metadata())


def test_a_batch_that_the_broker_cut_is_left_out_and_a_damaged_one_left_in():
    batch = build_batch([Record(value=b"x" * 50)])
    assert whole_batches(memoryview(batch * 2 + batch[:-1])) == (batch * 2, len(batch))
    assert whole_batches(memoryview(batch[:20])) == (b"", 0)
    damaged = batch[:8] + b"\0\0\0\1" + batch[12:]
    assert whole_batches(memoryview(damaged)) == (damaged, 0)
