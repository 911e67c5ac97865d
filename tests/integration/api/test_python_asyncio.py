"""`headrace.aio` against a real broker: the same promises as `import headrace`, and tasks that are cancelled."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

import headrace
from ended import until_ended
from headrace.api.errors import Closed, DeliveryFailed, TransactionMisused, UnknownOption, Unserialisable
from headrace.testing import Broker

IDLE = 3.0
Play = Callable[[Callable[[headrace.aio.Client, str], Coroutine[Any, Any, None]]], None]


@asynccontextmanager
async def connected(broker: Broker, **settings: Any) -> AsyncIterator[headrace.aio.Client]:
    async with headrace.aio.connect(broker.bootstrap, session_timeout_ms=6000, **settings) as client:
        yield client


@pytest.fixture
def play(headrace_broker: Broker, headrace_topic: str) -> Play:
    """Runs a story with a client and a topic of one partition."""

    async def told(story: Callable[[headrace.aio.Client, str], Coroutine[Any, Any, None]]) -> None:
        async with connected(headrace_broker) as client:
            await client.create_topic(headrace_topic, partitions=1)
            await story(client, headrace_topic)

    return lambda story: asyncio.run(told(story), debug=True)


async def fill(client: headrace.aio.Client, topic: str, count: int) -> None:
    async with client.producer() as producer:
        for number in range(count):
            await producer.send(topic, str(number))


async def texts(client: headrace.aio.Client, topic: str) -> list[str]:
    return [message.text async for message in client.fetch(topic)]


def test_deliveries_are_awaited_or_told_later(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        assert await client.produce(topic, {"id": 1}, key="k") == (topic, 0, 0)
        async with client.producer("sender", {"linger.ms": 1}) as producer:
            deliveries = [await producer.send(topic, "x") for _ in range(3)]
            assert [(await each).offset for each in deliveries] == [1, 2, 3]
        lost = client.producer()
        await lost.send(topic, "x", partition=9)
        with pytest.raises(DeliveryFailed):
            await lost.close()
        assert await texts(client, topic) == ['{"id":1}', "x", "x", "x"]

    play(story)


def test_a_loop_commits_after_its_body_and_reads_again_what_failed(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        await fill(client, topic, 5)
        seen = []
        with pytest.raises(RuntimeError):
            async with client.join_group(topic, topic) as consumer:
                async for message in consumer:
                    seen.append(message.text)
                    if message.text == "2":
                        raise RuntimeError("of the body")
        assert (await client.lag(topic)).total == 3
        async with client.join_group(topic, topic) as consumer:
            async for message in consumer.messages(idle_seconds=IDLE):
                seen.append(message.text)
        assert seen == ["0", "1", "2", "2", "3", "4"]
        assert (await client.lag(topic)).total == 0

    play(story)


def test_a_cancelled_loop_has_finished_what_its_bodies_finished(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        await fill(client, topic, 3)
        consumer, seen, is_third = client.join_group(topic, topic), [], asyncio.Event()

        async def read() -> None:
            async for message in consumer:
                seen.append(message.text)
                if message.text == "2":
                    is_third.set()
                    await asyncio.sleep(600)

        task = asyncio.create_task(read())
        await asyncio.wait_for(is_third.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async for message in consumer.messages(idle_seconds=IDLE):
            seen.append(message.text)
        assert seen == ["0", "1", "2", "2"]

    play(story)


def test_a_wait_for_the_next_message_can_be_given_up_and_taken_up(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        messages = aiter(client.join_group(topic, topic))
        seen: list[str] = []

        async def give_up_often() -> None:
            while len(seen) < 50:
                try:
                    seen.append((await asyncio.wait_for(anext(messages), 0.03)).text)
                except TimeoutError:
                    continue

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(give_up_often())
            for number in range(50):
                await client.produce(topic, str(number))
        assert seen == [str(number) for number in range(50)]

    play(story)


def test_other_tasks_may_pause_and_seek_while_a_loop_waits(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        await fill(client, topic, 2)
        async with client.join_group(topic, topic) as consumer:
            seen: asyncio.Queue[str] = asyncio.Queue()

            async def read() -> None:
                async for message in consumer:
                    seen.put_nowait(message.text)

            reader = asyncio.create_task(read())
            assert [await asyncio.wait_for(seen.get(), 60) for _ in range(2)] == ["0", "1"]
            await consumer.pause()
            await client.produce(topic, "2")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(seen.get(), 1)
            await consumer.resume()
            assert await asyncio.wait_for(seen.get(), 60) == "2"
            await consumer.seek(1)
            assert [await asyncio.wait_for(seen.get(), 60) for _ in range(2)] == ["1", "2"]
            reader.cancel()

    play(story)


def test_a_second_loop_ends_the_first(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        await fill(client, topic, 2)
        consumer = client.join_group(topic, topic)
        first = aiter(consumer)
        assert (await anext(first)).text == "0"
        assert (await anext(aiter(consumer))).text == "0"
        with pytest.raises(headrace.ApiError, match="another loop"):
            await anext(first)

    play(story)


def test_transactions_are_all_or_nothing(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        sink = f"{topic}-sink"
        await client.create_topic(sink, partitions=1)
        await fill(client, topic, 6)
        failed = False
        async with client.transactional_producer(topic) as producer, client.join_group(topic, topic) as consumer:
            async for batch in consumer.batches(messages_max=3, wait_seconds=30, idle_seconds=IDLE):
                try:
                    async with producer.transaction(consumer) as transaction:
                        for message in batch:
                            await transaction.send(sink, message.value)
                        if message.text == "5" and not failed:
                            failed = True
                            raise RuntimeError("of the body")
                except RuntimeError:
                    continue
        assert failed and await texts(client, sink) == ["0", "1", "2", "3", "4", "5"]
        assert (await client.lag(topic)).total == 0

    play(story)


def test_a_cancelled_transaction_is_aborted_unless_its_commit_is_on_its_way(
    play: Play, headrace_broker: Broker
) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        producer, is_sent, hold = client.transactional_producer(topic), asyncio.Event(), asyncio.Event()

        async def send(value: str) -> None:
            async with producer.transaction() as transaction:
                await (await transaction.send(topic, value))
                is_sent.set()
                await hold.wait()

        cancelled = asyncio.create_task(send("no"))
        await is_sent.wait()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        hold.set()
        committing = asyncio.create_task(send("yes"))
        is_sent.clear()
        await is_sent.wait()
        await asyncio.sleep(0)
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing
        await asyncio.to_thread(until_ended, headrace_broker.bootstrap, topic)
        assert await texts(client, topic) == ["yes"]

    play(story)


def test_a_transaction_cannot_be_misused(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        await fill(client, topic, 1)
        producer = client.transactional_producer(topic)
        with pytest.raises(TransactionMisused, match="inside a transaction"):
            await producer.send(topic, "x")
        async with client.join_group(topic, topic) as consumer:
            message = await anext(aiter(consumer))
            async with producer.transaction(consumer) as transaction:
                with pytest.raises(TransactionMisused, match="transaction of this consumer is open"):
                    await consumer.commit_offset(message)
                with pytest.raises(TransactionMisused, match="before the next"):
                    async with producer.transaction():
                        pass
        with pytest.raises(TransactionMisused, match="has ended"):
            await transaction.send(topic, "late")

    play(story)


def test_topics_are_listed_changed_and_deleted(play: Play) -> None:
    async def story(client: headrace.aio.Client, topic: str) -> None:
        assert topic in await client.topics()
        await client.alter_topic(topic, partitions=3, config={"retention.ms": 90_000})
        found = await client.describe_topic(topic)
        assert (len(found.partitions), found.config["retention.ms"]) == (3, "90000")
        with pytest.raises(headrace.ApiError, match=r"did you mean retention\.ms"):
            await client.alter_topic(topic, config={"retention.m": 1})
        await client.delete_topic(topic)
        assert topic not in await client.topics()

    play(story)


def test_the_context_of_a_task_travels_in_headers(headrace_broker: Broker, headrace_topic: str) -> None:
    """Each task has a context of its own, and what it sends carries that."""
    from opentelemetry import trace

    async def send(client: headrace.aio.Client, number: int) -> None:
        context = trace.SpanContext(number, number, is_remote=False, trace_flags=trace.TraceFlags(1))
        with trace.use_span(trace.NonRecordingSpan(context)):
            await asyncio.sleep(0)
            await client.produce(headrace_topic, str(number))

    async def story() -> dict[str, int]:
        async with connected(headrace_broker, traces=True) as client:
            await client.create_topic(headrace_topic, partitions=1)
            await asyncio.gather(*(send(client, number) for number in range(1, 6)))
            spans = {
                each.text: trace.get_current_span(each.trace_context()) async for each in client.fetch(headrace_topic)
            }
            return {text: span.get_span_context().trace_id for text, span in spans.items()}

    assert asyncio.run(story()) == {str(number): number for number in range(1, 6)}


def test_mistakes_are_told_at_the_call(headrace_broker: Broker, headrace_topic: str) -> None:
    async def story() -> None:
        with pytest.raises(UnknownOption, match=r"no setting linger.mss\ndid you mean linger.ms\?"):
            headrace.aio.connect(headrace_broker.bootstrap, linger_mss=5)
        async with connected(headrace_broker) as client:
            producer, consumer = client.producer(), client.join_group("g", headrace_topic)
            with pytest.raises(Unserialisable, match="a value of type set cannot be sent"):
                await producer.send(headrace_topic, {1, 2})
            with pytest.raises(UnknownOption, match=r"did you mean acks\?"):
                client.producer(config={"ack": 1})
        for call in (client.topics, lambda: producer.send(headrace_topic, "x"), lambda: anext(aiter(consumer))):
            with pytest.raises(Closed):
                await call()

    asyncio.run(story())


def test_a_signal_ends_the_loops_after_their_bodies(headrace_broker: Broker, headrace_topic: str) -> None:
    before = signal.getsignal(signal.SIGTERM)

    async def story() -> list[str]:
        seen = []
        async with connected(headrace_broker, stop_on_signals=True) as client:
            await client.create_topic(headrace_topic, partitions=1)
            await fill(client, headrace_topic, 3)
            async for message in client.join_group(headrace_topic, headrace_topic):
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(0.1)
                seen.append(message.text)
        return seen

    assert asyncio.run(story()) == ["0"]
    with headrace.connect(headrace_broker.bootstrap) as client:
        assert client.lag(headrace_topic).total == 2
    assert signal.getsignal(signal.SIGTERM) is before
