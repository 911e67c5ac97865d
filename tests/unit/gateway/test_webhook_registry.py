"""Following the topic of subscriptions over batches that cannot be read."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest
from some_webhook import hook

from headrace.base.outage import Outage
from headrace.client.cluster_client import Fetched
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.webhooks import registry
from headrace.gateway.webhooks.deliveries import Deliveries
from headrace.gateway.webhooks.registry import PARTITION, TOPIC, Registry
from headrace.gateway.webhooks.subscription import Subscription
from headrace.wire.batch import HEADER_SIZE
from headrace.wire.records import Record, build_batch

SECONDS = 10.0
BASE_OFFSET_AT, LENGTH_AT = 0, 8


def batch_of(offset: int) -> bytearray:
    made = hook(f"wh-{offset}")
    record = Record(offset, 0, made.id.encode(), made.to_record())
    return bytearray(build_batch([record], base_offset=offset))


class SaidLog:
    """A client whose every fetch returns the next of these, and then waits as for records that do not come."""

    def __init__(self, *fetches: list[bytearray]) -> None:
        self._fetches = list(fetches)

    async def metadata(self, topics: list[str]) -> Any:
        return SimpleNamespace(topics={TOPIC: SimpleNamespace(error_code=0)})

    async def offsets(self, wanted: Any) -> Any:
        return {PARTITION: SimpleNamespace(offset=0)}

    async def fetch(self, partition: object, offset: int, wait_ms: int) -> Fetched:
        if not self._fetches:
            await asyncio.Event().wait()
        return Fetched(memoryview(b"".join(self._fetches.pop(0))), 3, 3, 0, (), 3)


class DeadCluster(SaidLog):
    """Answers nothing for so many seconds of a clock that goes on by one with every question."""

    def __init__(self, seconds: int, *fetches: list[bytearray]) -> None:
        super().__init__(*fetches)
        self.now, self._end = 0.0, seconds

    async def metadata(self, topics: list[str]) -> Any:
        self.now += 1.0
        if self.now <= self._end:
            raise Disconnected("no broker answers")
        return await super().metadata(topics)


def followed(log: SaidLog, outage: Outage | None = None) -> set[str]:
    """The subscriptions when the end was read."""

    async def follow() -> set[str]:
        reading = Registry(cast("Gateway", SimpleNamespace(client=log)), lambda *_: None, outage)
        task = asyncio.create_task(reading.run())
        loaded = asyncio.create_task(reading.until_loaded())
        await asyncio.wait([task, loaded], timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
        assert loaded.done() and not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return set(reading.subscriptions)

    return asyncio.run(follow())


def test_a_batch_that_cannot_be_opened_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    broken = batch_of(1)
    broken[HEADER_SIZE] = 0xFF
    with caplog.at_level(logging.ERROR):
        assert followed(SaidLog([batch_of(0), broken, batch_of(2)])) == {"wh-0", "wh-2"}
    assert f"{TOPIC}, offset 1" in caplog.text


@pytest.mark.parametrize("at", [BASE_OFFSET_AT, LENGTH_AT])
def test_a_batch_whose_end_is_unknown_is_read_again(
    at: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "PAUSE_SECONDS", 0.0)
    broken = batch_of(1)
    broken[at], broken[HEADER_SIZE] = 0xFF, 0xFF
    with caplog.at_level(logging.WARNING):
        assert followed(SaidLog([batch_of(0), broken], [batch_of(1), batch_of(2)])) == {"wh-0", "wh-1", "wh-2"}
    assert "cannot be read from offset 1" in caplog.text


def test_a_webhook_may_be_made_while_others_are_asked_about() -> None:
    class Asking(Deliveries):
        async def _has_redrive(self, subscription: Subscription) -> bool:
            self.registry._ledger.subscriptions["wh-new"] = hook("wh-new")
            return False

    settings = SimpleNamespace(webhook_keys="")
    asking = Asking(cast("Gateway", SimpleNamespace(settings=settings, trust=None)))
    asking.registry._ledger.subscriptions["wh-1"] = hook("wh-1")
    assert "wh-1" in {work.id for work in asyncio.run(asking._wanted_work())}


def test_a_dead_cluster_is_told_once_a_minute_and_its_return_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "PAUSE_SECONDS", 0.0)
    dead = DeadCluster(150, [batch_of(0)], [batch_of(1), batch_of(2)])
    with caplog.at_level(logging.INFO):
        assert followed(dead, Outage(lambda: dead.now)) == {"wh-0", "wh-1", "wh-2"}
    assert [record.getMessage() for record in caplog.records if record.name == "headrace.gateway.webhooks"] == [
        *[f"{TOPIC} cannot be read: no broker answers"] * 3,
        f"{TOPIC} is read again",
    ]
