"""Server-sent events from a real gateway: nothing missed, nothing twice, from wherever a listener comes."""

import contextlib
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from events import listening
from gateway_process import SECONDS, GatewayProcess

from eventually import until
from headrace.testing import Broker


@pytest.fixture
def send(broker: Broker) -> Callable[..., None]:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def send(topic: str, *values: str | bytes, **options: Any) -> None:
        for value in values:
            producer.produce(topic, value, **options)
        assert producer.flush(SECONDS) == 0

    return send


def test_what_is_stored_now_arrives(http: httpx.Client, topic: str, send: Any) -> None:
    send(topic, "before")
    with listening(http, topic) as events:
        send(topic, "one", key="k", headers={"trace": "abc"})
        send(topic, '{"two": 2}', b"\xff")
        first, second, third = events.take(3)
    assert first.id == "0:2"
    assert first.data | {"timestamp": 0} == {
        "partition": 0,
        "offset": 1,
        "key": "k",
        "value": "one",
        "timestamp": 0,
        "headers": {"trace": "abc"},
    }
    assert (second.data["value"], second.data["encoding"]) == ({"two": 2}, "json")
    assert (third.data["value"], third.data["encoding"]) == ("/w==", "base64")


def test_resumes_where_it_stopped(http: httpx.Client, new_topic: Callable[..., str], send: Any) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        send(topic, *(f"{partition} {number}" for number in range(20)), partition=partition)
    seen: list[tuple[int, int]] = []
    last_id = ""
    while len(seen) < 60:
        with listening(http, topic, last_id, start="earliest") as events:
            seen += [(event.data["partition"], event.data["offset"]) for event in events.take(min(7, 60 - len(seen)))]
            last_id = events.last_id
    assert sorted(seen) == [(partition, offset) for partition in range(3) for offset in range(20)]
    assert last_id == "0:20,1:20,2:20"
    with listening(http, topic, last_id) as events:
        send(topic, "after", partition=1)
        assert events.take(1)[0].id == "0:20,1:21,2:20"


def test_listeners_come_and_go_while_messages_flow(http: httpx.Client, topic: str, send: Any) -> None:
    """Each joins the live end from somewhere else, and each sees every message from there on, once and in order."""
    total = 3000
    storing = threading.Thread(target=lambda: [send(topic, *map(str, range(n, n + 100))) for n in range(0, total, 100)])
    storing.start()
    last_id, seen = "", []
    while len(seen) < total:
        with listening(http, topic, last_id, start="earliest") as events:
            seen += events.values(min(137, total - len(seen)))
            last_id = events.last_id
    storing.join()
    assert seen == [str(number) for number in range(total)]


def test_only_some_partitions(http: httpx.Client, new_topic: Callable[..., str], send: Any) -> None:
    topic = new_topic(partitions=3)
    with listening(http, topic, partition=[2, 1]) as some, listening(http, topic) as everything:
        for partition in range(3):
            send(topic, f"in {partition}", partition=partition)
        assert sorted(some.values(2)) == ["in 1", "in 2"]
        assert sorted(everything.values(3)) == ["in 0", "in 1", "in 2"]
        assert some.last_id == "1:1,2:1"


def test_partitions_that_are_added_are_heard(
    broker: Broker, admin: AdminClient, new_topic: Callable[..., str], send: Any
) -> None:
    """By all, and one question to the brokers is enough for them."""
    topic, count = new_topic(partitions=1), 60
    program = (str(Path(__file__).with_name("looking_gateway.py")),)
    running = GatewayProcess(broker.bootstrap, program=program).start()
    with contextlib.ExitStack() as stack:
        stack.callback(running.stop)
        client = stack.enter_context(running.client())
        listeners = [stack.enter_context(listening(client, topic)) for _ in range(count)]
        one = stack.enter_context(listening(client, topic, partition=0))
        send(topic, "before", partition=0)
        assert all(each.values(1) == ["before"] for each in listeners)
        asked = metadata_requests(broker)
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(SECONDS)
        # One that has just come, and knows of it.
        newcomer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        newcomer.produce(topic, "new", partition=2)
        assert newcomer.flush(SECONDS) == 0
        assert all(each.take(1)[0].id == "0:1,1:0,2:1" for each in listeners)
        assert metadata_requests(broker) < asked + count
        send(topic, "old", partition=0)
        assert one.values(2) == ["before", "old"]
        assert all(each.take(1)[0].id == "0:2,1:0,2:1" for each in listeners)


def metadata_requests(broker: Broker) -> float:
    page = httpx.get(broker.metrics_url, timeout=SECONDS, trust_env=False).text
    return sum(map(float, re.findall(r'^headrace_requests_total\{.*api="Metadata".*\} (\S+)$', page, re.MULTILINE)))


def test_a_batch_that_unpacks_to_much(http: httpx.Client, broker: Broker, topic: str) -> None:
    """One request brings it, and it is sent in many blocks."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "compression.type": "zstd",
            "linger.ms": 5000,
            "batch.size": 20_000_000,
            "message.max.bytes": 20_000_000,
            "log_level": 0,
        }
    )
    for number in range(5000):
        producer.produce(topic, f"{number:01000}")
    assert producer.flush(SECONDS) == 0
    with listening(http, topic, start="earliest") as events:
        assert [int(value[-9:]) for value in events.values(5000)] == list(range(5000))
        last_id = events.last_id
    assert last_id == "0:5000"


def test_aborted_messages_are_not_shown(http: httpx.Client, topic: str, broker: Broker, send: Any) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(SECONDS)
    with listening(http, topic) as live:
        for value, end in (("a", producer.commit_transaction), ("b", producer.abort_transaction)):
            producer.begin_transaction()
            producer.produce(topic, value)
            end(SECONDS)
        send(topic, "c")
        assert live.values(2) == ["a", "c"]
    with listening(http, topic, start="earliest") as late:
        assert late.values(2) == ["a", "c"]


def test_new_values_are_not_html_nor_lines(http: httpx.Client, topic: str, send: Any) -> None:
    hostile = "<script>alert(1)</script>\n\nid: 7\nevent: end\r\rdata: x\x00\u2028"
    with listening(http, topic) as events:
        send(topic, hostile, key=hostile)
        (event,) = events.take(1)
    assert (event.id, event.name) == ("0:1", "message")
    assert (event.data["key"], event.data["value"]) == (hostile, hostile)


def test_a_slow_reader_holds_up_nobody(new_gateway: Callable[..., GatewayProcess], topic: str, send: Any) -> None:
    """It falls out of the shared buffer, and still gets everything when it reads on."""
    running = new_gateway("--set", "push_buffer_bytes_max=100000")
    count, size = 4000, 5000
    with running.client() as client, listening(client, topic) as slow, listening(client, topic) as quick:
        send(topic, *(f"{number:0{size}}" for number in range(count)))
        assert [int(value[-9:]) for value in quick.values(count)] == list(range(count))
        assert [int(value[-9:]) for value in slow.values(count)] == list(range(count))


@pytest.fixture(scope="module")
def strict(broker: Broker) -> Iterator[GatewayProcess]:
    running = GatewayProcess(broker.bootstrap, "--set", "push_listeners_max=1", "--set", "push_send_seconds_max=1")
    yield running.start()
    running.stop()


def test_too_many_are_turned_away(strict: GatewayProcess, topic: str) -> None:
    with strict.client() as client:
        with listening(client, topic):
            refused = client.get(f"/api/v1/topics/{topic}/events")
            assert refused.status_code == 429
            assert refused.headers["retry-after"]
        until_nobody_listens(client)
        with listening(client, topic):
            pass
        until_nobody_listens(client)


def test_who_takes_nothing_is_let_go(strict: GatewayProcess, topic: str, send: Any) -> None:
    with strict.client() as client, listening(client, topic) as idle:
        send(topic, *(b"x" * 100_000 for _ in range(200)))
        until_nobody_listens(client)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError, AssertionError)):
            idle.take(201)


def test_a_gateway_that_stops_says_so(strict: GatewayProcess, topic: str) -> None:
    with strict.client() as client, listening(client, topic) as events:
        os.kill(strict.pid, signal.SIGTERM)
        (end,) = events.take(1)
    assert (end.name, end.data["detail"]) == ("end", "the gateway stops")


def until_nobody_listens(client: httpx.Client) -> None:
    until(lambda: not client.get("/api/v1/push").json()["listeners"])


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/topics/no-such-topic/events", {}, 404),
        ("/api/v1/topics/_headrace_webhooks/events", {}, 403),
        ("/api/v1/topics/{topic}/events?partition=99", {}, 404),
        ("/api/v1/topics/{topic}/events?partition=-1", {}, 422),
        ("/api/v1/topics/{topic}/events?start=tomorrow", {}, 422),
        ("/api/v1/topics/{topic}/events?after=not-an-id", {}, 422),
        ("/api/v1/topics/{topic}/events", {"Last-Event-ID": "0:1,0:1"}, 422),
        ("/api/v1/topics/{topic}/events", {"Last-Event-ID": "0:999"}, 416),
    ],
)
def test_bad_requests(http: httpx.Client, topic: str, path: str, headers: dict[str, str], status: int) -> None:
    refused = http.get(path.format(topic=topic), headers=headers)
    assert refused.status_code == status, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["fix"]
