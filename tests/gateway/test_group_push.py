"""Events of a group: members share, commits decide where the next one begins, ids bring back what was lost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from events import EventReader
from gateway_process import SECONDS, GatewayProcess
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from eventually import until
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
    def committed() -> list[Any]:
        reply = client.get(f"/api/v1/consumer-groups/{group}/lag")
        partitions = reply.json().get("partitions", []) if reply.status_code == 200 else []
        return [each.get("committed") for each in partitions]

    until(committed, lambda found: found == [offset])


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
            seen = EventReader(second)

            def shares() -> list[int]:
                for partition in range(2):
                    send(topic, "meanwhile", partition=partition)
                shown = http.get(f"/api/v1/consumer-groups/g-{topic}").json()
                return sorted(len(each["partitions"]) for each in shown.get("members", []))

            until(shares, lambda counts: counts == [1, 1], SECONDS)
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
    url = socket_url(gateway, group, topic)
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


def consumers(gateway: GatewayProcess) -> int:
    """Instances of librdkafka in the process: each has a thread of this name."""
    names = [task.read_text().strip() for task in Path(f"/proc/{gateway.pid}/task").glob("*/comm")]
    return names.count("rdk:main")


def socket_url(gateway: GatewayProcess, group: str, topic: str) -> str:
    return f"{gateway.url.replace('http', 'ws')}/api/v1/consumer-groups/{group}/events?topic={topic}&start=earliest"


def test_who_is_turned_away_never_joins(new_gateway: Callable[..., GatewayProcess], topic: str, send: Any) -> None:
    gateway, group = new_gateway("--set", "push_groups_max=1"), f"g-{topic}"
    send(topic, "one")
    with gateway.client() as client:
        with member(client, group, topic) as reply:
            reader = EventReader(reply)
            assert reader.values(1) == ["one"]
            before = consumers(gateway)
            with member(client, group, topic) as refused:
                assert refused.status_code == 429
                assert "push_groups_max" in refused.read().decode()
            with pytest.raises(InvalidStatus), connect(socket_url(gateway, group, topic), proxy=None):
                pass
            assert consumers(gateway) == before
        until_alone(client)
        with member(client, group, topic) as reply:
            assert reply.status_code == 200
            send(topic, "two")
            assert EventReader(reply).values(1) == ["two"]


@pytest.mark.parametrize("transport", ["sse", "websocket"])
def test_a_gateway_that_stops_leaves_its_groups(
    capfd: Any, http: httpx.Client, new_gateway: Callable[..., GatewayProcess], topic: str, send: Any, transport: str
) -> None:
    """Or the others would wait for the end of a session, which is long here."""
    gateway, group = new_gateway("--set", "group_session_ms=60000"), f"g-{topic}"
    send(topic, "one")
    assert gateway.process is not None
    if transport == "sse":
        with gateway.client() as client, member(client, group, topic) as reply:
            reader = EventReader(reply)
            reader.take(1)
            gateway.process.terminate()
            assert reader.take(1)[0].name == "end"
    else:
        with connect(socket_url(gateway, group, topic), proxy=None, open_timeout=SECONDS) as connection:
            connection.recv(SECONDS)
            gateway.process.terminate()
            assert [json.loads(each)["detail"] for each in connection] == ["the gateway stops"]
            assert connection.close_code == 1001
    gateway.process.wait(SECONDS)
    assert http.get(f"/api/v1/consumer-groups/{group}").json()["members"] == []
    assert "Traceback" not in capfd.readouterr().err


def until_alone(client: httpx.Client) -> None:
    until(lambda: not client.get("/api/v1/push").json()["listeners"])


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
