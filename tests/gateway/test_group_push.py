"""Events of a group: members share, commits decide where the next one begins, ids bring back what was lost."""

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from events import EventReader
from gateway_process import SECONDS, GatewayProcess
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from headrace.testing import Broker


@pytest.fixture
def send(broker: Broker) -> Callable[..., None]:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def send(topic: str, *values: str, **options: Any) -> None:
        for value in values:
            producer.produce(topic, value, **options)
        assert producer.flush(SECONDS) == 0

    return send


def member(client: httpx.Client, group: str, topic: str, last_id: str = "") -> Any:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    query = {"topic": topic, "start": "earliest"}
    return client.stream("GET", f"/api/v1/consumer-groups/{group}/events", params=query, headers=headers)


def until_committed(client: httpx.Client, group: str, offset: int) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        reply = client.get(f"/api/v1/consumer-groups/{group}/lag")
        partitions = reply.json().get("partitions", []) if reply.status_code == 200 else []
        if [each.get("committed") for each in partitions] == [offset]:
            return
        assert time.monotonic() < deadline, reply.text
        time.sleep(0.1)


def test_what_was_taken_is_committed_and_an_id_brings_it_back(http: httpx.Client, topic: str, send: Any) -> None:
    group = f"g-{topic}"
    send(topic, "one", "two", "three")
    with member(http, group, topic) as reply:
        reader = EventReader(reply)
        events = reader.take(3)
        assert [event.data["value"] for event in events] == ["one", "two", "three"]
        until_committed(http, group, 3)
    send(topic, "four")
    with member(http, group, topic, last_id=events[0].id) as reply:
        reader = EventReader(reply)
        assert reader.values(3) == ["two", "three", "four"]
        until_committed(http, group, 4)
    send(topic, "five")
    with member(http, group, topic) as reply:
        assert EventReader(reply).values(1) == ["five"]


def test_members_share(http: httpx.Client, new_topic: Callable[..., str], send: Any) -> None:
    topic = new_topic(partitions=2)
    with member(http, f"g-{topic}", topic) as first:
        send(topic, "a", partition=0)
        send(topic, "b", partition=1)
        # Held on to: a reader that is forgotten closes its connection.
        reader = EventReader(first)
        assert sorted(reader.values(2)) == ["a", "b"]
        with member(http, f"g-{topic}", topic) as second:
            seen, shown = EventReader(second), None
            deadline = time.monotonic() + SECONDS
            while True:
                assert time.monotonic() < deadline, shown
                for partition in range(2):
                    send(topic, "meanwhile", partition=partition)
                time.sleep(0.05)
                shown = http.get(f"/api/v1/consumer-groups/g-{topic}").json()
                if sorted(len(each["partitions"]) for each in shown.get("members", [])) == [1, 1]:
                    break
            send(topic, "end", partition=0)
            send(topic, "end", partition=1)
            partitions = set()
            for event in seen:
                partitions.add(event.data["partition"])
                if event.data["value"] == "end":
                    break
    assert len(partitions) == 1


def test_a_socket_commits_when_it_is_told(gateway: GatewayProcess, http: httpx.Client, topic: str, send: Any) -> None:
    group = f"g-{topic}"
    send(topic, "one", "two", "three")
    url = f"{gateway.url.replace('http', 'ws')}/api/v1/consumer-groups/{group}/events?topic={topic}&start=earliest"
    with connect(url, proxy=None, open_timeout=SECONDS) as connection:
        events = [json.loads(connection.recv(SECONDS)) for _ in range(3)]
        connection.send(json.dumps({"commit": events[1]["id"]}))
        until_committed(http, group, 2)
    with connect(url, proxy=None, open_timeout=SECONDS) as connection:
        assert json.loads(connection.recv(SECONDS))["value"] == "three"
        connection.send("nonsense")
        assert json.loads(connection.recv(SECONDS))["title"] == "Invalid message"
        with pytest.raises(ConnectionClosed):
            connection.recv(SECONDS)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("?topic=no-such-topic", 404),
        ("?topic=_headrace_webhooks", 403),
        ("?topic={topic}&after=x", 422),
        ("?topic={topic}&after=7:0", 404),
    ],
)
def test_bad_requests(http: httpx.Client, topic: str, query: str, status: int) -> None:
    refused = http.get(f"/api/v1/consumer-groups/g/events{query.format(topic=topic)}")
    assert refused.status_code == status, refused.text
    assert refused.json()["fix"]
