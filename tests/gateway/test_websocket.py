"""WebSockets of a topic: the same events, resumed in the same way, by a real client library."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from events import listening
from gateway_process import SECONDS, GatewayProcess
from metric_page import value_on
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from eventually import until
from headrace.gateway.push.positions import PARTITIONS_MAX
from headrace.testing import Broker


@pytest.fixture
def send(broker: Broker) -> Callable[..., None]:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def send(topic: str, *values: str | bytes, **options: Any) -> None:
        for value in values:
            producer.produce(topic, value, **options)
        assert producer.flush(SECONDS) == 0

    return send


@contextmanager
def socket(gateway: GatewayProcess, path: str, **query: Any) -> Iterator[ClientConnection]:
    url = str(httpx.URL(gateway.url.replace("http", "ws") + path, params=query))
    with connect(url, proxy=None, open_timeout=SECONDS, close_timeout=SECONDS) as connection:
        yield connection


def events(topic: str) -> str:
    return f"/api/v1/topics/{topic}/events"


def take(connection: ClientConnection, count: int) -> list[dict[str, Any]]:
    return [json.loads(connection.recv(SECONDS)) for _ in range(count)]


def test_messages_arrive_and_are_resumed(gateway: GatewayProcess, new_topic: Callable[..., str], send: Any) -> None:
    topic = new_topic(partitions=2)
    with socket(gateway, events(topic)) as connection:
        send(topic, "one", key="k", partition=0)
        (first,) = take(connection, 1)
        send(topic, "two", partition=1)
        (second,) = take(connection, 1)
    assert first | {"timestamp": 0} == {
        "id": "0:1,1:0", "partition": 0, "offset": 0, "key": "k", "value": "one", "timestamp": 0, "headers": {},
    }  # fmt: skip
    assert second["id"] == "0:1,1:1"
    with socket(gateway, events(topic), after=first["id"]) as connection:
        assert take(connection, 1)[0]["value"] == "two"


def test_the_longest_ids_are_resumed(
    gateway: GatewayProcess, http: httpx.Client, admin: AdminClient, new_topic: Callable[..., str], send: Any
) -> None:
    """In the address of a WebSocket and in a header of a stream; a listener that would have longer ones is refused."""
    topic, most = new_topic(partitions=PARTITIONS_MAX), PARTITIONS_MAX
    send(topic, "one", "two", partition=most - 1)
    with socket(gateway, events(topic), start="earliest") as connection:
        first = take(connection, 1)[0]
    assert len(first["id"]) > 10_000
    with socket(gateway, events(topic), after=first["id"]) as connection:
        assert take(connection, 1)[0]["value"] == "two"
    with listening(http, topic, first["id"]) as stream:
        assert stream.values(1) == ["two"]
    admin.create_partitions([NewPartitions(topic, most + 1)])[topic].result(SECONDS)
    for path in (events(topic), f"/api/v1/consumer-groups/g/events?topic={topic}"):
        refused = http.get(path)
        assert (refused.status_code, refused.json()["title"]) == (422, "Too many partitions")
        assert str(most) in refused.json()["detail"] and "partition=" in refused.json()["fix"]
    with listening(http, topic, start="earliest", partition=most - 1) as stream:
        assert stream.take(1)[0].id == f"{most - 1}:1"


def test_a_long_past_and_the_live_end_join(gateway: GatewayProcess, topic: str, send: Any) -> None:
    send(topic, *map(str, range(5000)))
    with socket(gateway, events(topic), start="earliest") as connection:
        seen = take(connection, 4000)
        send(topic, *map(str, range(5000, 6000)))
        seen += take(connection, 2000)
    assert [event["value"] for event in seen] == [str(number) for number in range(6000)]


def test_a_listener_has_nothing_to_say(gateway: GatewayProcess, topic: str) -> None:
    with socket(gateway, events(topic)) as connection:
        connection.send("hello")
        assert json.loads(connection.recv(SECONDS))["title"] == "Nothing to say"
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(SECONDS)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008


@pytest.mark.parametrize("size", [3_000_000, 20_000_000])
def test_long_messages_are_not_taken(gateway: GatewayProcess, topic: str, size: int) -> None:
    """A commit is all that a client may have to say. It hears why also while most of its message is still on its way."""
    with socket(gateway, events(topic)) as connection:
        connection.send("x" * size)
        with pytest.raises(ConnectionClosed):
            connection.recv(SECONDS)
        assert connection.close_code == 1009


def test_unknown_topic_is_refused(gateway: GatewayProcess) -> None:
    with pytest.raises(Exception, match="403"), socket(gateway, events("no-such-topic")):
        pass


def test_listeners_and_what_they_heard_are_counted(new_gateway: Any, topic: str, send: Any) -> None:
    gateway = new_gateway()
    with gateway.client() as client, socket(gateway, events(topic)) as connection, listening(client, topic) as stream:
        send(topic, "one", "two", "three")
        assert len(take(connection, 3)) == len(stream.values(3)) == 3
        page = client.get("/metrics").text
        assert value_on(page, "headrace_push_listeners", of="topic") == 2
        assert value_on(page, "headrace_push_listeners", of="group") == 0
        # A listener reads by itself what was there before the feed was: only what comes then is kept for all.
        heard = 3
        while value_on(client.get("/metrics").text, "headrace_push_kept_bytes") == 0:
            send(topic, "one more")
            heard += len(take(connection, 1))
            assert stream.values(1) == ["one more"]
        # Counted when it is written, which a listener may be quicker than.
        for transport in ("sse", "websocket"):
            sent = {"transport": transport}
            until(
                lambda sent=sent: value_on(client.get("/metrics").text, "headrace_push_events_total", **sent) == heard
            )
