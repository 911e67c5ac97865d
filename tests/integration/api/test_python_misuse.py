"""`import headrace` in the hands of a stranger: interrupts, forks, forgotten closes, sends nobody awaits, wrong values."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

import headrace
from eventually import until
from headrace.api import loop as loop_module
from headrace.api import reader as reader_module
from headrace.api.errors import Closed, DeliveryFailed, TransactionAborted, TransactionMisused, UnknownOption
from headrace.api.message import message_of
from headrace.testing import Broker

IDLE = 2.0
TIMEOUT = 60.0


@pytest.fixture
def client(headrace_broker: Broker) -> Iterator[headrace.Client]:
    with headrace.connect(headrace_broker.bootstrap, session_timeout_ms=6000) as made:
        yield made


@pytest.fixture
def topic(client: headrace.Client, headrace_topic: str) -> str:
    client.create_topic(headrace_topic, partitions=1)
    return headrace_topic


def fill(client: headrace.Client, topic: str, count: int) -> None:
    with client.producer() as producer:
        for number in range(count):
            producer.send(topic, str(number))


def committed(client: headrace.Client, group: str, topic: str) -> int:
    """The group's next message; 0 if it has committed nothing."""
    try:
        ends = len(list(client.fetch(topic)))
        return ends - client.lag(group).total
    except headrace.ApiError as failure:
        assert "committed nothing" in failure.cause
        return 0


def members(broker: Broker, group: str) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    return len(admin.describe_consumer_groups([group])[group].result(30).members)


def run(program: str, *args: str) -> subprocess.CompletedProcess[str]:
    code = textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=TIMEOUT)


# -- interrupts --------------------------------------------------------------------------------------------------------


def test_what_an_interrupted_read_had_in_its_hands_is_read_again(
    client: headrace.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client, topic, 5)
    interrupted_at = [2]

    def interrupted(read: confluent_kafka.Message) -> headrace.Message:
        """As Ctrl-C does, which comes between any two steps."""
        if read.offset() in interrupted_at:
            interrupted_at.clear()
            raise KeyboardInterrupt
        return message_of(read)

    monkeypatch.setattr(reader_module, "message_of", interrupted)
    seen = []
    with client.join_group(topic, topic) as consumer:
        with pytest.raises(KeyboardInterrupt):
            for message in consumer:
                seen.append(message.text)
        seen += [message.text for message in consumer.messages(idle_seconds=IDLE)]
    assert set(seen) == set("01234")
    assert client.lag(topic).total == 0


@pytest.mark.long
def test_a_loop_taken_up_after_many_interrupts_has_missed_nothing(client: headrace.Client, topic: str) -> None:
    class Alarm(BaseException):
        pass

    def ring(*_: object) -> None:
        raise Alarm

    fill(client, topic, 1000)
    seen: set[str] = set()
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with client.join_group(topic, topic) as consumer:
            for number in range(30):
                signal.setitimer(signal.ITIMER_REAL, 0.003 * number if number % 2 else 0.5)
                try:
                    for message in consumer:
                        seen.add(message.text)
                        time.sleep(0.002)
                except Alarm:
                    continue
            while len(seen) < 1000:
                seen |= {message.text for message in consumer.messages(idle_seconds=1)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) == 1000


def test_a_second_signal_does_not_wait_for_the_body(headrace_broker: Broker, topic: str) -> None:
    before = signal.getsignal(signal.SIGINT)
    with headrace.connect(headrace_broker.bootstrap, stop_on_signals=True) as client:
        fill(client, topic, 1)
        with pytest.raises(KeyboardInterrupt), client.join_group(topic, topic) as consumer:
            for _ in consumer:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
                raise AssertionError("the second signal was swallowed")
        assert committed(client, topic, topic) == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_handler_may_close_the_client_amid_a_read(headrace_broker: Broker, topic: str) -> None:
    client = headrace.connect(headrace_broker.bootstrap)
    fill(client, topic, 3)
    before = signal.signal(signal.SIGUSR1, lambda *_: client.close())
    seen = []
    try:
        with pytest.raises(Closed):
            for message in client.join_group(topic, topic):
                seen.append(message.text)
                if message.text == "2":
                    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == ["0", "1", "2"]
    with headrace.connect(headrace_broker.bootstrap) as later:
        assert later.lag(topic).total == 0


# -- forks and ends of programs ----------------------------------------------------------------------------------------


def test_a_forked_child_is_told_to_connect_itself(headrace_broker: Broker, topic: str) -> None:
    program = """
        import os, sys, headrace
        bootstrap, topic = sys.argv[1:]
        with headrace.connect(bootstrap) as client, client.producer() as producer:
            producer.send(topic, "parent").result(30)
            consumer = client.join_group(topic, topic)
            next(iter(consumer))
            child = os.fork()
            if child == 0:
                for call in (client.topics, lambda: producer.send(topic, "x"), lambda: next(iter(consumer))):
                    try:
                        call()
                    except headrace.ApiError as error:
                        print(error.fix, flush=True)
                client.close()
                with headrace.connect(bootstrap) as own:
                    print(own.produce(topic, "child").offset, flush=True)
                sys.exit(7)  # the interpreter ends as usual, with all that it inherited
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            print(producer.send(topic, "parent").result(30).offset)
    """
    ended = run(program, headrace_broker.bootstrap, topic)
    assert (ended.returncode, ended.stdout.split("\n")[:-1]) == (0, ["connect in the child, too"] * 3 + ["1", "2"]), (
        ended
    )


def test_a_program_that_closes_nothing_has_sent_all_and_left_its_group(
    headrace_broker: Broker, client: headrace.Client, topic: str
) -> None:
    program = """
        import sys, headrace
        bootstrap, topic = sys.argv[1:]
        client = headrace.connect(bootstrap)
        producer = client.producer(config={"linger.ms": 300})
        for number in range(50):
            producer.send(topic, str(number))
        producer.flush()
        consumer = client.join_group(topic, topic)
        for message in consumer:
            producer.send(topic, "again")
            if message.offset == 9:
                break
    """
    ended = run(program, headrace_broker.bootstrap, topic)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(list(client.fetch(topic))) == 60
    assert committed(client, topic, topic) == 9
    assert members(headrace_broker, topic) == 0


def test_a_consumer_that_was_dropped_leaves_its_group(headrace_broker: Broker, topic: str) -> None:
    client = headrace.connect(headrace_broker.bootstrap)
    client.produce(topic, "x")
    consumer = client.join_group(topic, topic)
    next(iter(consumer))
    assert members(headrace_broker, topic) == 1
    del consumer, client
    gc.collect()
    until(lambda: members(headrace_broker, topic), lambda found: found == 0, TIMEOUT / 2)


# -- what bodies send --------------------------------------------------------------------------------------------------


def test_a_message_is_committed_after_what_its_body_sent_is_stored(
    client: headrace.Client, headrace_topic: str
) -> None:
    source, sink = f"{headrace_topic}-in", f"{headrace_topic}-out"
    for each in (source, sink):
        client.create_topic(each, partitions=1)
    fill(client, source, 10)
    producer = client.producer(config={"linger.ms": 60_000})
    with client.join_group(source, source, config={"auto.commit.interval.ms": 100}) as consumer:
        for message in consumer:
            producer.send(sink, message.value)
            if message.text == "9":
                break
        time.sleep(0.5)
        assert committed(client, source, source) == 0
        producer.flush()
        assert next(iter(consumer)).text == "9"
    assert committed(client, source, source) == 9
    assert len(list(client.fetch(sink))) == 10


def test_a_send_that_fails_ends_the_loop_and_its_message_is_read_again(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 5)
    producer = client.producer()
    with client.join_group(topic, topic) as consumer:
        seen = []
        with pytest.raises(DeliveryFailed, match="_UNKNOWN_PARTITION"):
            for message in consumer:
                seen.append(message.text)
                producer.send(f"{topic}-out", message.value, partition=9 if message.text == "2" else 0)
        assert seen[:3] == ["0", "1", "2"]
        assert next(iter(consumer)).text == "2"
    assert committed(client, topic, topic) == 2


def test_tasks_too_commit_after_what_their_bodies_sent(headrace_broker: Broker, headrace_topic: str) -> None:
    source, sink = f"{headrace_topic}-in", f"{headrace_topic}-out"

    async def story() -> None:
        async with headrace.aio.connect(headrace_broker.bootstrap) as client:
            for each in (source, sink):
                await client.create_topic(each, partitions=1)
            for number in range(3):
                await client.produce(source, str(number))
            producer = client.producer(config={"linger.ms": 60_000})
            async with client.join_group(source, source) as consumer:
                async for message in consumer.messages(idle_seconds=IDLE):
                    await producer.send(sink, message.value)
            assert (await client.lag(source)).total == 0
            assert len([message async for message in client.fetch(sink)]) == 3

    asyncio.run(story())


# -- transactions ------------------------------------------------------------------------------------------------------


def test_a_loop_takes_no_step_inside_a_transaction(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 3)
    producer = client.transactional_producer(topic)
    with client.join_group(topic, topic) as consumer:
        messages = iter(consumer)
        next(messages)
        for step in (lambda: next(messages), lambda: next(iter(consumer)), lambda: consumer.seek(0)):
            told = pytest.raises(TransactionMisused, match="while a transaction of this consumer is open")
            with told, producer.transaction(consumer):
                step()
    assert committed(client, topic, topic) == 0


def test_a_transaction_is_of_one_with_block_and_of_a_consumer(client: headrace.Client, topic: str) -> None:
    producer = client.transactional_producer(topic)
    transaction = producer.transaction()
    with pytest.raises(TransactionMisused, match="has not begun"):
        transaction.send(topic, "x")
    with transaction:
        pass
    with pytest.raises(TransactionMisused, match="was begun before"), transaction:
        pass
    with pytest.raises(TransactionMisused, match="is no consumer"):
        producer.transaction("orders")  # type: ignore[arg-type]


def test_a_consumer_closed_inside_a_transaction_aborts_it(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 2)
    sink = f"{topic}-out"
    client.create_topic(sink, partitions=1)
    producer = client.transactional_producer(topic)
    consumer = client.join_group(topic, topic)
    message = next(iter(consumer))
    told = pytest.raises(TransactionAborted, match="is closed, with a transaction open")
    with told, producer.transaction(consumer) as transaction:
        transaction.send(sink, message.value)
        consumer.close()
    assert list(client.fetch(sink)) == []
    assert committed(client, topic, topic) == 0


def test_no_later_commit_takes_back_what_a_transaction_committed(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 4)
    producer = client.transactional_producer(topic)
    with client.join_group(topic, topic, config={"auto.commit.interval.ms": 300}) as consumer:
        for message in consumer:
            if message.text == "1":  # "0" was finished without a transaction, and is to be committed soon
                with producer.transaction(consumer):
                    pass
                break
        time.sleep(1)
        assert committed(client, topic, topic) == 2
    assert committed(client, topic, topic) == 2


# -- reading -----------------------------------------------------------------------------------------------------------


def test_no_later_commit_takes_back_one_that_was_asked_for(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 5)
    with client.join_group(topic, topic) as consumer:
        for message in consumer:
            if message.offset == 3:
                consumer.commit_offset(message)
                break
    assert client.lag(topic).total == 1
    with client.join_group(topic, topic) as consumer:
        consumer.seek("earliest")
        for message in consumer:
            if message.offset == 1:
                consumer.commit_offset(message)
                break
    assert client.lag(topic).total == 3


def test_an_offset_that_is_not_there_is_told(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 3)
    with pytest.raises(
        headrace.ApiError, match=f"{topic}-0 has no offset 7: it begins at 0 and its next message will be 3"
    ):
        list(client.fetch(topic, start=7))
    assert list(client.fetch(topic, start=3)) == []
    with client.join_group(topic, topic) as consumer:
        with pytest.raises(headrace.ApiError, match="has no offset -1"):
            consumer.seek(-1)
        with pytest.raises(headrace.ApiError, match="no place in a topic"):
            consumer.seek("begin")  # type: ignore[arg-type]


def test_the_silence_of_a_dead_cluster_is_no_end(headrace_topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "OUTAGE_SECONDS", 0.5)
    monkeypatch.setattr(reader_module, "OUTAGE_ASK_SECONDS", 0.5)
    broker = Broker({"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1000})
    with broker, headrace.connect(broker.bootstrap, session_timeout_ms=1000) as client:
        client.create_topic(headrace_topic, partitions=1)
        client.produce(headrace_topic, "0")
        consumer = client.join_group(headrace_topic, headrace_topic)
        with pytest.raises(headrace.ApiError, match="no broker says that there is no more"):
            for _ in consumer.messages(idle_seconds=1):
                broker.kill()


def test_a_second_member_of_the_same_name_is_told_to_the_first(client: headrace.Client, topic: str) -> None:
    client.produce(topic, "0")
    config = {"group.instance.id": "the-same"}
    with client.join_group(topic, topic, config=config) as first:
        messages = iter(first)
        next(messages)
        with client.join_group(topic, topic, config=config) as second:
            next(iter(second))
            with pytest.raises(headrace.ApiError, match=r"fenced.*\n.*group\.instance\.id"):
                next(messages)


@pytest.mark.long
def test_a_body_that_takes_too_long_is_told_and_its_message_read_again(client: headrace.Client, topic: str) -> None:
    fill(client, topic, 2)
    with client.join_group(topic, topic, config={"max.poll.interval.ms": 6000}) as consumer:
        with pytest.raises(headrace.ApiError, match=r"maximum poll interval.*\n.*messages_max"):
            for _ in consumer:
                time.sleep(8)
        assert next(iter(consumer)).text == "0"


# -- what is wrong is told at the call ---------------------------------------------------------------------------------


def test_headers_may_come_more_than_once_and_be_sent_on(client: headrace.Client, topic: str) -> None:
    client.produce(topic, "x", headers=[("a", "1"), ("a", "2")])
    (first,) = client.fetch(topic)
    client.produce(topic, "x", headers=first.headers)
    assert [message.headers for message in client.fetch(topic)] == [(("a", b"1"), ("a", b"2"))] * 2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"keys": "k"}, r"no option keys\ndid you mean key\?"),
        ({"partition": "0"}, "'0' is no partition"),
        ({"partition": -1}, "-1 is no partition"),
        ({"timestamp_ms": 1.5}, "timestamp_ms is 1.5"),
        ({"headers": {"a": 1}}, "are no headers"),
        ({"headers": "text"}, "are no headers"),
        ({"key": {1, 2}}, "a value of type set cannot be sent"),
        ({"key": "\ud800"}, "no UTF-8"),
    ],
)
def test_wrong_options_of_a_send(client: headrace.Client, options: dict[str, Any], match: str) -> None:
    with pytest.raises(headrace.ApiError, match=match):
        client.produce("never-made", "x", **options)


def test_names_that_are_none_and_settings_with_a_place_elsewhere(client: headrace.Client) -> None:
    wrong: dict[str, Any] = {
        "is no name of a topic": [lambda: client.produce("", "x"), lambda: client.join_group("g", ["a", "b"])],  # type: ignore[arg-type]
        "is no name of a group": [lambda: client.join_group("", "a"), lambda: client.lag("")],
        "is no name of a broker": [lambda: headrace.connect("")],
        "is no address of a broker": [lambda: headrace.connect("http://127.0.0.1:9092")],
        "is no name of a transactional producer": [lambda: client.transactional_producer("")],
        "join_group\\(\\) names the group": [lambda: headrace.connect("127.0.0.1:1", group_id="g")],
        "is a setting of consumers": [lambda: client.producer(config={"auto.offset.reset": "latest"})],
        "is a setting of producers": [lambda: client.join_group("g", "a", config={"linger.ms": 1})],
        'refused: Invalid value "first" for': [
            lambda: client.join_group("g", "a", config={"auto.offset.reset": "first"})
        ],
        "config is": [lambda: client.producer(config=["linger.ms"])],  # type: ignore[arg-type]
    }
    for match, calls in wrong.items():
        for call in calls:
            with pytest.raises(headrace.ApiError, match=match):
                call()
    with pytest.raises(UnknownOption):
        client.producer(config={"acksx": 1})
