"""`import headrace` while brokers stand still, die and come back, and while a second producer takes a transactional id."""

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError

import headrace
from ended import until_ended
from eventually import until
from headrace.api.errors import ApiError, DeliveryFailed
from headrace.testing import Broker, Cluster

# Ten messages; what is counted are librdkafka's own requests and events too.
TINY, QUEUED_MAX = {"queue.buffering.max.messages": 10, "linger.ms": 0}, 40
COUNT = 600


@pytest.fixture(scope="module")
def own_broker() -> Iterator[Broker]:
    """A broker that may be stopped: others read from the session's."""
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3, {"group.initial.rebalance.delay.ms": 0}) as made:
        yield made


@pytest.fixture
def whole(cluster: Cluster) -> Iterator[Cluster]:
    """All three brokers run, before and after the test."""
    yield cluster
    cluster.start()


def created(client: headrace.Client, topic: str, partitions: int) -> None:
    """On three brokers; on a busy machine one of them may have lost its lease for a moment."""

    def is_created() -> bool:
        try:
            client.create_topic(topic, partitions=partitions)
        except ApiError as failure:
            if failure.kafka is None or failure.kafka.code() != KafkaError.INVALID_REPLICATION_FACTOR:
                raise
            return False
        return True

    until(is_created)


def doomed(cluster: Cluster, client: headrace.Client, topic: str) -> int:
    """The leader of the topic's first partition."""
    return client.describe_topic(topic).partitions[0].leader


def kill_soon(cluster: Cluster, number: int, seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, cluster.kill, (number,))
    timer.start()
    return timer


# -- back-pressure -----------------------------------------------------------------------------------------------------


def test_a_full_queue_holds_send_up_and_gives_up_in_time(own_broker: Broker, headrace_topic: str) -> None:
    with headrace.connect(own_broker.bootstrap) as client:
        client.create_topic(headrace_topic, partitions=1)
        producer = client.producer(config={**TINY, "max.block.ms": 300})
        producer.send(headrace_topic, "first").result(30)
        os.kill(own_broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(DeliveryFailed, match=r"queue is full[^\n]*no room for 0.3 s\n.*max.block.ms"):
                for _ in range(100):
                    producer.send(headrace_topic, "x" * 1000)
            assert 10 <= len(producer.queue.producer) <= QUEUED_MAX
        finally:
            os.kill(own_broker.pid, signal.SIGCONT)
    with headrace.connect(own_broker.bootstrap) as client:
        assert len(list(client.fetch(headrace_topic))) == 11


def test_a_slow_broker_slows_a_sender_and_its_memory_stays(own_broker: Broker, headrace_topic: str) -> None:
    with headrace.connect(own_broker.bootstrap) as client:
        client.create_topic(headrace_topic, partitions=1)
        os.kill(own_broker.pid, signal.SIGSTOP)
        woken = threading.Timer(0.5, os.kill, (own_broker.pid, signal.SIGCONT))
        woken.start()
        with client.producer(config=TINY) as producer:
            queued = 0
            for number in range(300):
                producer.send(headrace_topic, str(number))
                queued = max(queued, len(producer.queue.producer))
        woken.join()
        assert 10 <= queued <= QUEUED_MAX
        assert [each.text for each in client.fetch(headrace_topic)] == [str(number) for number in range(300)]


def test_tasks_wait_for_room_in_their_order_and_give_up_in_time(own_broker: Broker, headrace_topic: str) -> None:
    async def story() -> None:
        async with headrace.aio.connect(own_broker.bootstrap) as client:
            await client.create_topic(headrace_topic, partitions=1)
            os.kill(own_broker.pid, signal.SIGSTOP)
            try:
                patient, hasty = client.producer(config=TINY), client.producer(config={**TINY, "max.block.ms": 300})
                sends = [asyncio.create_task(patient.send(headrace_topic, str(number))) for number in range(300)]
                with pytest.raises(DeliveryFailed, match="queue is full"):
                    for _ in range(100):
                        await hasty.send("elsewhere", "x")
                assert 10 <= len(patient.sync.queue.producer) <= QUEUED_MAX
                sends[200].cancel()
            finally:
                os.kill(own_broker.pid, signal.SIGCONT)
            await asyncio.gather(*sends, return_exceptions=True)
            await patient.flush()
            read = [message.text async for message in client.fetch(headrace_topic)]
            assert read == [str(number) for number in range(300) if number != 200]

    asyncio.run(story())


def test_deliveries_that_nobody_answers_fail_with_the_close(headrace_topic: str) -> None:
    with Broker() as broker:
        client = headrace.connect(broker.bootstrap)
        client.create_topic(headrace_topic, partitions=1)
        producer = client.producer(config={"delivery.timeout.ms": 2000})
        broker.kill()
        delivery = producer.send(headrace_topic, "x")
        with pytest.raises(DeliveryFailed, match="headrace cluster status"):
            producer.close()
        with pytest.raises(DeliveryFailed):
            delivery.result(0)


# -- fencing -----------------------------------------------------------------------------------------------------------


def test_a_fenced_producer_is_told_who_fenced_it(headrace_broker: Broker, headrace_topic: str) -> None:
    with headrace.connect(headrace_broker.bootstrap) as client:
        client.create_topic(headrace_topic, partitions=1)
        old = client.transactional_producer(headrace_topic)
        with (
            pytest.raises(ApiError, match="another producer uses this transactional id"),
            old.transaction() as transaction,
        ):
            transaction.send(headrace_topic, "lost")
            new = client.transactional_producer(headrace_topic)
        with new.transaction() as transaction:
            transaction.send(headrace_topic, "kept")
        with pytest.raises(ApiError, match="another producer uses this transactional id"), old.transaction():
            pass
        until_ended(headrace_broker.bootstrap, headrace_topic)
        assert [each.text for each in client.fetch(headrace_topic)] == ["kept"]


def test_a_fenced_producer_of_tasks_is_told_who_fenced_it(headrace_broker: Broker, headrace_topic: str) -> None:
    async def story() -> None:
        async with headrace.aio.connect(headrace_broker.bootstrap) as client:
            await client.create_topic(headrace_topic, partitions=1)
            async with client.transactional_producer(headrace_topic) as old:
                with pytest.raises(ApiError, match="another producer uses this transactional id"):
                    async with old.transaction() as transaction:
                        await transaction.send(headrace_topic, "lost")
                        await client.transactional_producer(headrace_topic).start()
            assert [message async for message in client.fetch(headrace_topic)] == []

    asyncio.run(story())


def test_whichever_call_meets_the_news_of_a_fence_goes_on(headrace_broker: Broker, headrace_topic: str) -> None:
    """librdkafka raises a fatal error in the call that serves its events: mostly our thread's, at times a flush."""
    is_held, release = threading.Event(), threading.Event()

    def hold(_: str) -> None:
        if not is_held.is_set():
            is_held.set()
            release.wait(60)

    with headrace.connect(headrace_broker.bootstrap) as client:
        client.create_topic(headrace_topic, partitions=1)
        old = client.transactional_producer(headrace_topic, {"statistics.interval.ms": 10, "stats_cb": hold})
        try:
            assert is_held.wait(60)  # the producer's own thread serves nothing any more
            told = pytest.raises(ApiError, match="another producer uses this transactional id")
            with told, old.transaction() as transaction:
                delivery = transaction.send(headrace_topic, "lost")
                client.transactional_producer(headrace_topic)
            old.flush()
            assert delivery.done
        finally:
            release.set()


def test_a_delivery_that_lost_its_callback_has_failed(
    headrace_broker: Broker, headrace_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with headrace.connect(headrace_broker.bootstrap) as client:
        client.create_topic(headrace_topic, partitions=1)
        producer = client.producer()

        def broken(*_: object) -> None:
            """As what runs in a call that has met a fatal error, or Ctrl-C."""
            raise KeyboardInterrupt

        monkeypatch.setattr(producer.queue, "_on_delivery", broken)
        delivery = producer.send(headrace_topic, "x")
        with pytest.raises(DeliveryFailed):
            delivery.result(60)


# -- death of a broker -------------------------------------------------------------------------------------------------


def test_a_producer_and_a_group_outlive_a_broker(whole: Cluster, headrace_topic: str) -> None:
    with headrace.connect(whole.bootstrap, session_timeout_ms=6000) as client:
        created(client, headrace_topic, 3)
        killer = kill_soon(whole, doomed(whole, client, headrace_topic), 0.5)
        with client.producer() as producer:
            for number in range(COUNT):
                producer.send(headrace_topic, str(number))
                time.sleep(0.002)
        killer.join()
        whole.start()
        stored = Counter(message.text for message in client.fetch(headrace_topic))
        assert stored == Counter(str(number) for number in range(COUNT))
        killer = kill_soon(whole, doomed(whole, client, headrace_topic), 0.5)
        with client.join_group(headrace_topic, headrace_topic) as consumer:
            seen = set()
            for message in consumer:
                seen.add(message.text)
                time.sleep(0.001)
                if len(seen) == COUNT:
                    break
            consumer.commit_offset(message)
        killer.join()


def copied(cluster: Cluster, source: str, sink: str) -> None:
    """A copier with transactions, whose broker dies."""
    with headrace.connect(cluster.bootstrap, session_timeout_ms=6000) as client:
        killer = kill_soon(cluster, doomed(cluster, client, sink), 0.5)
        with client.transactional_producer(source) as producer, client.join_group(source, source) as consumer:
            done = 0
            for batch in consumer.batches(messages_max=20):
                with producer.transaction(consumer) as transaction:
                    for message in batch:
                        transaction.send(sink, message.value)
                done += len(batch)
                time.sleep(0.05)
                if done >= COUNT:
                    break
        killer.join()


async def copied_by_tasks(cluster: Cluster, source: str, sink: str) -> None:
    async with headrace.aio.connect(cluster.bootstrap, session_timeout_ms=6000) as client:
        leader = (await client.describe_topic(sink)).partitions[0].leader
        killer = kill_soon(cluster, leader, 0.5)
        producer, consumer, done = client.transactional_producer(source), client.join_group(source, source), 0
        async for batch in consumer.batches(messages_max=20):
            async with producer.transaction(consumer) as transaction:
                for message in batch:
                    await transaction.send(sink, message.value)
            done += len(batch)
            await asyncio.sleep(0.05)
            if done >= COUNT:
                break
        await asyncio.to_thread(killer.join)


@pytest.mark.parametrize("is_async", [False, True])
def test_transactions_copy_each_message_once_while_a_broker_dies(
    whole: Cluster, headrace_topic: str, is_async: bool
) -> None:
    source, sink = f"{headrace_topic}-in", f"{headrace_topic}-out"
    with headrace.connect(whole.bootstrap) as client:
        for topic in (source, sink):
            created(client, topic, 2)
        with client.producer() as producer:
            for number in range(COUNT):
                producer.send(source, str(number))
        if is_async:
            asyncio.run(copied_by_tasks(whole, source, sink))
        else:
            copied(whole, source, sink)
        whole.start()
        until_ended(whole.bootstrap, sink)
        assert Counter(each.text for each in client.fetch(sink)) == Counter(str(number) for number in range(COUNT))
        assert client.lag(source).total == 0
