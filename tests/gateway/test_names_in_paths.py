"""Names with any character in paths: what is percent-encoded belongs to the name, and never parts one path from another."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from events import EventReader
from gateway_process import SECONDS, GatewayProcess
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from headrace.testing import Broker

NAMES = ["a/b", "/", "a/offsets", "a/../b", "..", "ü", "a b", "%2F", "a%2Fb", "?#;&=+", "線/路", "\U0001f980"]


def escaped(name: str) -> str:
    """Dots too, which clients would tidy away."""
    return "".join(f"%{byte:02x}" for byte in name.encode())


def path_of(group: str) -> str:
    return f"/api/v1/consumer-groups/{escaped(group)}"


@pytest.fixture
def filled(http: httpx.Client, topic: str) -> str:
    http.post(f"/topics/{topic}/messages", json=[{"value": value} for value in "abc"]).raise_for_status()
    return topic


@pytest.fixture
def commit(http: httpx.Client, filled: str) -> Iterator[Callable[..., None]]:
    """Commits for a group, which is gone after the test."""
    groups = []

    def commit(group: str, offset: int) -> None:
        body = {"group": group, "topic": filled, "partition": 0, "offset": offset}
        http.post("/consumer/commit", json=body).raise_for_status()
        groups.append(group)

    yield commit
    for group in groups:
        http.delete(path_of(group))


def asked(http: httpx.Client, method: str, path: str, **options: Any) -> Any:
    reply = http.request(method, path, **options)
    assert reply.is_success, (method, path, reply.text)
    return reply.json() if reply.content else None


@pytest.mark.parametrize("group", NAMES)
def test_a_group_by_its_name(http: httpx.Client, filled: str, commit: Callable[..., None], group: str) -> None:
    commit(group, 1)
    path = path_of(group)
    for part in ("", "/members", "/lag", "/offsets"):
        assert asked(http, "GET", path + part)["group"] == group
    assert asked(http, "GET", f"{path}/lag")["lag"] == 2
    place = {"topic": filled, "partition": 0, "offset": 2}
    assert asked(http, "POST", f"{path}/offsets", json=place)["group"] == group
    assert asked(http, "POST", f"{path}/offsets/reset?confirm=true", json={"to": "earliest"})["group"] == group
    assert asked(http, "GET", f"{path}/offsets")["offsets"][0]["offset"] == 0
    asked(http, "DELETE", path)
    assert http.get(path).status_code == 404


@pytest.mark.parametrize("group", NAMES)
def test_a_session_of_a_group_by_its_name(http: httpx.Client, filled: str, group: str) -> None:
    opened = http.post(f"{path_of(group)}/sessions", json={"topics": [filled]})
    assert opened.status_code == 201, opened.text
    path, id = opened.headers["location"], opened.json()["session"]
    assert asked(http, "GET", path)["group"] == group
    assert asked(http, "GET", f"{path_of(group)}/sessions/{id}")["group"] == group
    assert [each["session"] for each in asked(http, "GET", f"{path_of(group)}/sessions")["sessions"]] == [id]
    polled = asked(http, "GET", f"{path}/messages", params={"wait_ms": 20_000, "limit": 1})
    assert [each["value"] for each in polled["messages"]] == ["a"]
    assert asked(http, "POST", f"{path}/offsets", json={"offsets": polled["offsets"]})["group"] == group
    asked(http, "DELETE", path)
    assert asked(http, "GET", f"{path_of(group)}/lag")["lag"] == 2
    asked(http, "DELETE", path_of(group))


@pytest.mark.parametrize("group", ["a/b", "..", "ü", "%2F"])
def test_events_of_a_group_by_its_name(
    gateway: GatewayProcess, http: httpx.Client, filled: str, commit: Callable[..., None], group: str
) -> None:
    commit(group, 1)
    events = f"{path_of(group)}/events?topic={filled}"
    with http.stream("GET", events) as reply:
        assert EventReader(reply).values(2) == ["b", "c"]
    commit_when_left(http, filled, group)
    with connect(gateway.url.replace("http", "ws") + events, proxy=None, open_timeout=SECONDS) as socket:
        assert '"value":"c"' in str(socket.recv(SECONDS))


def commit_when_left(http: httpx.Client, topic: str, group: str) -> None:
    place = {"topic": topic, "partition": 0, "offset": 2}
    while (reply := http.post(f"{path_of(group)}/offsets", json=place)).status_code == 409:
        pass
    assert reply.is_success, reply.text


@pytest.mark.parametrize("id", ["team/till", "ü", "..", "%2F"])
def test_a_transactional_id_by_its_name(http: httpx.Client, broker: Broker, id: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, "transactional.id": id})
    producer.init_transactions(SECONDS)
    assert asked(http, "GET", f"/api/v1/transactions/{escaped(id)}")["id"] == id


def test_an_escaped_slash_parts_nothing(http: httpx.Client, filled: str, commit: Callable[..., None]) -> None:
    commit("a", 1)
    for path in (
        "/api/v1/consumer-groups/a%2Foffsets",
        "/api/v1/consumer-groups%2Fa/offsets",
        "/api/v1%2Fconsumer-groups/a",
        "/api%2fv1/consumer-groups",
        "%2Fapi/v1/consumer-groups",
        f"/topics%2F{filled}/messages",
        f"/api/v1/topics/{filled}%2Fpartitions/0/messages",
        f"/api/v1/topics%2F{filled}",
        "/ui%2Fgroups",
        "/ui/%2F..%2Fgroups",
        "/_nicegui%2Fx",
        "/_nicegui/%2Fetc%2Fpasswd",
        "/metrics%2Fbrokers/1",
    ):
        assert http.get(path).status_code == 404, path
    assert http.delete("/api/v1/consumer-groups%2Fa").status_code == 404
    assert http.post(f"/topics/{filled}%2Fmessages", json={"value": 1}).status_code == 404
    assert http.get("/api/v1/consumer-groups/a/offsets").is_success


@pytest.mark.parametrize("name", ["%ff", "a%C3", "%ed%b0%af", "%00", "a%00b"])
def test_names_that_are_none(gateway: GatewayProcess, http: httpx.Client, filled: str, name: str) -> None:
    """Bytes that are no UTF-8 would all look alike, and what comes after a zero some clients do not see."""
    path = f"/api/v1/consumer-groups/{name}"
    replies = [http.request(method, path) for method in ("GET", "DELETE")]
    replies += [http.get(f"/api/v1/transactions/{name}"), http.get(f"{path}/events", params={"topic": filled})]
    replies += [http.post(f"{path}/sessions", json={"topics": [filled]})]
    for reply in replies:
        assert reply.status_code == 422, (reply.url, reply.text)
        assert reply.json()["fix"]
    with pytest.raises(InvalidStatus, match="HTTP 403"):
        connect(f"{gateway.url.replace('http', 'ws')}{path}/events?topic={filled}", proxy=None, open_timeout=SECONDS)


@pytest.mark.parametrize(
    "path", ["/api/v1/topics/%ff", "/api/v1/webhooks/a%2Fb", "/topics/%ff/messages", "/%ff", "/ui/%ff"]
)
def test_what_is_no_name_is_refused_elsewhere_too(http: httpx.Client, path: str) -> None:
    reply = http.get(path)
    assert reply.status_code in (404, 422), reply.text
    assert reply.headers["content-type"] == "application/problem+json"
