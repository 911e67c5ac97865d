"""A consumer on its thread, with no broker to talk to: orders, failures and the end."""

import asyncio

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from headrace.client.polled_consumer import Pace, PolledConsumer

CONFIG = {"bootstrap.servers": "127.0.0.1:1", "group.id": "nobody"}
PACE = Pace(idle_seconds=0.01, busy_seconds=0.01, busy_for_seconds=1.0)
SECONDS_MAX = 60.0


def polled() -> PolledConsumer:
    """It only polls."""
    made: PolledConsumer = PolledConsumer(CONFIG, lambda: made.poll(), pace=PACE)
    return made


def test_orders_are_done_on_the_thread_and_one_that_fails_holds_up_none() -> None:
    async def run() -> list[str]:
        done: list[str] = []
        both = asyncio.Event()
        consumer = polled()

        def refused(_: Consumer) -> None:
            done.append("refused")
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))

        def second(_: Consumer) -> None:
            done.append("second")
            consumer.tell(both.set)

        consumer.order(refused)
        consumer.order(second)
        assert not done, "nothing is done before the start"
        consumer.start()
        async with asyncio.timeout(SECONDS_MAX):
            await both.wait()
            consumer.order(lambda _: done.append("last"))
            await consumer.stop()
        return done

    assert asyncio.run(run()) == ["refused", "second", "last"]


def test_a_turn_that_fails_ends_the_consumer_and_is_told() -> None:
    async def run() -> None:
        told = asyncio.Event()

        def turn() -> None:
            raise ValueError("broken")

        def on_failure(error: Exception) -> None:
            failures.append(str(error))
            consumer.tell(told.set)

        consumer = PolledConsumer(CONFIG, turn, pace=PACE, on_failure=on_failure)
        consumer.start()
        async with asyncio.timeout(SECONDS_MAX):
            await told.wait()
            await consumer.stop()
        with pytest.raises(RuntimeError, match="closed"):
            consumer.consumer.poll(0)

    failures: list[str] = []
    asyncio.run(run())
    assert failures == ["broken"]


def test_a_consumer_that_was_never_started_is_stopped_at_once() -> None:
    async def run() -> None:
        async with asyncio.timeout(SECONDS_MAX):
            await polled().stop()

    asyncio.run(run())
