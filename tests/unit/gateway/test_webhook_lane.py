"""A lane outlives faults of ours: whatever is raised while it delivers is a try that failed."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.base.outage import Outage
from headrace.client.connection import Disconnected
from headrace.gateway.webhooks import courier
from headrace.gateway.webhooks.courier import Courier
from headrace.gateway.webhooks.lane import Item, Lane
from headrace.gateway.webhooks.letter import Letter
from headrace.gateway.webhooks.retry import Answer, RetryPolicy
from headrace.gateway.webhooks.tally import Tally
from headrace.wire.records import Record

SECONDS = 10.0
POLICY = RetryPolicy(tries_max=3, wait_ms=1, wait_ms_max=1)


class FaultyOutlet:
    """Fails so many times with what nobody expects, and then takes everything."""

    def __init__(self, faults: int) -> None:
        self.faults = faults
        self.delivered: list[int] = []
        self.buried: list[tuple[int, str]] = []
        self.committed: asyncio.Queue[int] = asyncio.Queue()

    async def deliver(self, letters: list[Letter], tries: int) -> Answer:
        if self.faults:
            self.faults -= 1
            raise TypeError("Recursion limit reached")
        self.delivered += [each.record.offset for each in letters]
        return Answer(200)

    async def bury(self, letters: list[Letter], reason: str, tries: int) -> None:
        self.buried += [(each.record.offset, reason) for each in letters]

    def commit(self, partition: int, next_offset: int) -> None:
        self.committed.put_nowait(next_offset)


def run(outlet: FaultyOutlet) -> None:
    async def both() -> None:
        lane = Lane(0, outlet, POLICY, messages_max=1)
        for offset in (0, 1):
            lane.offer(Item(offset, Letter("orders", 0, Record(offset, 0, None, b"value"))))
        task = asyncio.create_task(lane.run())
        async with asyncio.timeout(SECONDS):
            assert [await outlet.committed.get() for _ in range(2)] == [1, 2]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(both())


def test_a_fault_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    outlet = FaultyOutlet(faults=2)
    with caplog.at_level(logging.ERROR):
        run(outlet)
    assert (outlet.delivered, outlet.buried) == ([0, 1], [])
    faults = [each for each in caplog.records if each.exc_info]
    assert len(faults) == 2 and "orders-0-0" in faults[0].getMessage()


def test_what_fails_at_every_try_is_a_dead_letter() -> None:
    outlet = FaultyOutlet(faults=3)
    run(outlet)
    assert outlet.delivered == [1]
    assert outlet.buried == [(0, "a fault of the gateway: TypeError: Recursion limit reached")]


class Burying(Courier):
    """Of a courier only what writes dead letters, by a clock that goes on by one with every try."""

    def __init__(self, *failures: Exception) -> None:
        self.subscription: Any = SimpleNamespace(id="wh-1")
        self.tally, self.dead_letters, self.tries = Tally(), 0, 0
        self._failures = list(failures)
        self._burying = Outage(lambda: float(self.tries))

    async def _write_dead_letters(self, letters: list[Letter], reason: str, tries: int) -> None:
        self.tries += 1
        if self._failures:
            raise self._failures.pop()


def buried_with(burying: Burying, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courier, "BURY_PAUSE_SECONDS", 0.0)
    asyncio.run(burying.bury([Letter("orders", 0, Record(0, 0, None, b"value"))], "HTTP 500", 3))
    assert (burying.dead_letters, burying.trouble) == (1, "")


def test_a_fault_while_burying_is_logged_and_tried_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    burying = Burying(KeyError("dead"))
    with caplog.at_level(logging.ERROR):
        buried_with(burying, monkeypatch)
    assert burying.tries == 2
    assert [each.getMessage() for each in caplog.records] == ["webhook wh-1: a fault of ours; trying again"]


def test_dead_letters_that_cannot_be_written_are_told_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.INFO):
        buried_with(Burying(*[Disconnected("no broker answers")] * 100), monkeypatch)
    assert [each.getMessage() for each in caplog.records if each.name == "headrace.gateway.webhooks"] == [
        *["webhook wh-1: dead letters cannot be written: no broker answers"] * 2,
        "webhook wh-1: dead letters are written again",
    ]
