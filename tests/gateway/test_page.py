"""A page put together from what a broker answers, whatever that is."""

import asyncio
from typing import Any

import pytest

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient, Fetched
from headrace.gateway.messages import page
from headrace.gateway.messages.page import Limits, Page, read_page
from headrace.gateway.messages.stream_out import lines
from headrace.gateway.problem import Problem
from headrace.wire.batch import parse_header
from headrace.wire.records import Marker, Record, build_batch, build_marker

ID = TopicPartition("t", 0)
LIMITS = Limits(10, 1 << 20)


class Log(ClusterClient):
    """Batches, the first at offset 0; each fetch answers with some of them."""

    def __init__(self, batches: list[bytearray], at_once: int = 100) -> None:
        self.batches = batches
        self.at_once = at_once
        self.end = parse_header(batches[-1]).next_offset

    async def fetch(self, _: Any, offset: int, **__: Any) -> Fetched:
        found = [each for each in self.batches if parse_header(each).next_offset > offset][: self.at_once]
        return Fetched(memoryview(b"".join(found)), self.end, self.end, 0, (), self.end)


def batch(base_offset: int, *values: bytes) -> bytearray:
    return bytearray(build_batch([Record(-1, 0, None, value) for value in values], base_offset=base_offset))


def damaged(base_offset: int) -> bytearray:
    whole = batch(base_offset, b"value")
    whole[-3] ^= 1
    return whole


def marker(base_offset: int) -> bytearray:
    made = build_marker(Marker(True, 0), producer_id=1, producer_epoch=0, timestamp=0, base_offset=base_offset)
    return bytearray(made)


def read(log: Log, offset: int) -> Page:
    return asyncio.run(read_page(log, ID, offset, LIMITS, "auto"))


async def all_lines(log: Log, first: Page) -> bytes:
    return b"".join([part async for part in lines(log, ID, 0, first, LIMITS, "auto", None)])


def test_a_damaged_batch_is_a_problem_with_a_way_out() -> None:
    with pytest.raises(Problem) as found:
        read(Log([damaged(0), batch(1, b"behind")]), 0)
    assert found.value.title == "Corrupt batch" and "headrace log dump" in found.value.fix
    assert found.value.also == {"next_offset": 1}


def test_what_is_before_a_damaged_batch_is_shown() -> None:
    log = Log([batch(0, b"a", b"b"), damaged(2)])
    found = read(log, 0)
    assert ([each["value"] for each in found.messages], found.next_offset) == (["a", "b"], 2)
    with pytest.raises(Problem):
        read(log, found.next_offset)


def test_a_batch_that_says_it_is_shorter_than_a_header() -> None:
    broken = batch(0, b"a")
    broken[8:12] = (5).to_bytes(4, "big")

    class Broken(Log):
        async def fetch(self, *_: Any, **__: Any) -> Fetched:
            return Fetched(memoryview(broken), 1, 1, 0, (), 1)

    with pytest.raises(Problem) as found:
        read(Broken([batch(0, b"a")]), 0)
    assert found.value.title == "Corrupt batch"


def test_nobody_waits_for_what_nobody_may_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply without messages, and where to go on; lines go on by themselves."""
    monkeypatch.setattr(page, "HIDDEN_SECONDS_MAX", 0.0)
    log = Log([*(marker(offset) for offset in range(5)), batch(5, b"seen")], at_once=2)
    first = read(log, 0)
    assert (first.messages, first.next_offset) == ([], 2)
    shown = asyncio.run(all_lines(log, first))
    assert b"seen" in shown and shown.count(b"\n") == 1


def test_where_to_go_on_is_not_said_when_it_is_not_known() -> None:
    """A batch without anything to see, and behind it one that cannot be read at all."""
    broken = batch(1, b"a")
    broken[8:12] = (5).to_bytes(4, "big")

    class Broken(Log):
        async def fetch(self, *_: Any, **__: Any) -> Fetched:
            return Fetched(memoryview(batch(0, b"before") + broken), 2, 2, 0, (), 2)

    with pytest.raises(Problem) as found:
        read(Broken([batch(0, b"a")]), 1)
    assert found.value.also == {}
