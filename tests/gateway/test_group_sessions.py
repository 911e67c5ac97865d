"""Reading as a member of a group over HTTP: what is not committed comes again, what two share comes to one of them."""

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from gateway_process import SECONDS, GatewayProcess

from eventually import collected, until
from headrace.testing import Broker

COUNT = 20
WAIT_MS = 1000


@pytest.fixture
def group() -> str:
    return f"g-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def filled(broker: Broker, new_topic: Callable[..., str]) -> str:
    """Four partitions with five records each."""
    topic = new_topic(partitions=4)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for number in range(COUNT):
        producer.produce(topic, f"v{number}".encode(), b"k", partition=number % 4)
    assert producer.flush(SECONDS) == 0
    return topic


class Member:
    """A session as a caller uses it: it names the reply it got last, and so may ask again after any failure."""

    def __init__(self, http: httpx.Client, group: str, **settings: Any) -> None:
        self.http = http
        opened = http.post(f"/api/v1/consumer-groups/{group}/sessions", json=settings)
        assert opened.status_code == 201, opened.text
        self.path = opened.headers["location"]
        self.last: dict[str, Any] = {"poll": 0}

    def poll(self, **params: Any) -> dict[str, Any]:
        query = {"wait_ms": WAIT_MS, "after": self.last["poll"], **params}
        reply = self.http.get(f"{self.path}/messages", params=query)
        assert reply.status_code == 200, reply.text
        self.last = reply.json()
        return self.last

    def commit(self) -> None:
        if self.last["offsets"]:
            reply = self.http.post(f"{self.path}/offsets", json={"offsets": self.last["offsets"]})
            assert reply.status_code == 200, reply.text

    def leave(self) -> None:
        assert self.http.delete(self.path).status_code == 204

    def read(self, count: int, commit: bool = True) -> list[str]:
        """Values of the next messages, so many at least."""

        def taken() -> list[str]:
            values = [each["value"] for each in self.poll()["messages"]]
            if commit:
                self.commit()
            return values

        return collected(taken, lambda values: len(values) >= count)

    def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        return until(lambda: self.poll(limit=1), condition)


@pytest.fixture
def join(http: httpx.Client, group: str) -> Iterator[Callable[..., Member]]:
    joined: list[Member] = []

    def join(topic: str, **settings: Any) -> Member:
        joined.append(Member(http, group, **({"topics": [topic]} if topic else {}), **settings))
        return joined[-1]

    yield join
    for each in joined:
        http.delete(each.path)


ALL = sorted(f"v{number}" for number in range(COUNT))


def test_poll_commit_and_leave(http: httpx.Client, group: str, filled: str, join: Callable[..., Member]) -> None:
    member = join(filled)
    assert sorted(member.read(COUNT)) == ALL
    assert http.get(f"/api/v1/consumer-groups/{group}/lag").json()["lag"] == 0
    assert len(http.get(member.path).json()["assigned"]) == 4
    assert [each["session"] for each in http.get(f"/api/v1/consumer-groups/{group}/sessions").json()["sessions"]] == [
        member.path.rpartition("/")[2]
    ]
    member.leave()
    assert http.get(f"/api/v1/consumer-groups/{group}").json()["members"] == []
    lost = http.get(f"{member.path}/messages")
    assert lost.status_code == 404
    assert "POST /api/v1/consumer-groups" in lost.json()["fix"]


def test_what_was_not_committed_comes_again(filled: str, join: Callable[..., Member]) -> None:
    first = join(filled)
    first.read(COUNT, commit=False)
    first.leave()
    second = join(filled)
    assert sorted(second.read(COUNT)) == ALL
    second.leave()
    assert join(filled).poll(wait_ms=0)["messages"] == []


def test_a_reply_that_was_lost_is_given_again(http: httpx.Client, filled: str, join: Callable[..., Member]) -> None:
    member = join(filled)
    got = member.until(lambda reply: bool(reply["messages"]))
    again = member.poll(after=got["poll"] - 1)
    assert (again["poll"], again["messages"], again["offsets"]) == (got["poll"], got["messages"], got["offsets"])
    further = member.poll(max_bytes=1)
    assert (further["poll"], len(further["messages"])) == (got["poll"] + 1, 1)
    assert further["messages"] != got["messages"]
    refused = http.get(f"{member.path}/messages", params={"after": 77})
    assert (refused.status_code, "after=77" in refused.json()["detail"]) == (409, True)


def test_two_sessions_share_and_take_over(group: str, filled: str, join: Callable[..., Member]) -> None:
    first = join(filled)
    first.until(lambda reply: len(reply["assigned"]) == 4)
    second = join(filled)
    shared = second.until(lambda reply: len(reply["assigned"]) == 2)
    seen: list[dict[str, Any]] = []
    first.until(lambda reply: seen.append(reply) or len(reply["assigned"]) == 2)  # type: ignore[func-returns-value]
    assert any(reply["revoked"] for reply in seen), "the caller is told what was taken away"
    apart = [{(each["topic"], each["partition"]) for each in reply["assigned"]} for reply in (shared, seen[-1])]
    assert not apart[0] & apart[1]
    first.leave()
    second.until(lambda reply: len(reply["assigned"]) == 4)
    second.leave()
    last = join(filled)
    assert sorted(last.read(COUNT)) == ALL, "neither of them had committed"


def test_a_commit_of_what_is_not_assigned(
    http: httpx.Client, group: str, filled: str, join: Callable[..., Member]
) -> None:
    member = join(filled)
    member.until(lambda reply: bool(reply["assigned"]))
    place = {"topic": filled, "partition": 9, "offset": 1}
    refused = http.post(f"{member.path}/offsets", json=place)
    assert (refused.status_code, refused.json()["title"]) == (409, "Partition is not assigned")
    by_name = {**place, "partition": 0, "session": member.path.rpartition("/")[2]}
    assert http.post(f"/api/v1/consumer-groups/{group}/offsets", json=by_name).status_code == 200
    assert http.post("/consumer/commit", json={**by_name, "group": group}).status_code == 200
    assert http.post(f"/api/v1/consumer-groups/{group}/offsets", json={**place, "partition": 0}).status_code == 409


def test_one_poll_at_a_time(http: httpx.Client, topic: str, join: Callable[..., Member]) -> None:
    member = join(topic)
    polls = [threading.Thread(target=member.poll, kwargs={"wait_ms": 5000}) for _ in range(1)]
    polls[0].start()
    statuses = collected(
        lambda: [http.get(f"{member.path}/messages").status_code],
        lambda found: 409 in found or not polls[0].is_alive(),
    )
    polls[0].join(SECONDS)
    assert set(statuses) <= {200, 409} and 409 in statuses


def test_an_idle_session_leaves_its_group(
    http: httpx.Client, group: str, topic: str, join: Callable[..., Member]
) -> None:
    member = join(topic, idle_ms=1000)
    member.until(lambda reply: bool(reply["assigned"]))
    until(lambda: http.get(f"/api/v1/consumer-groups/{group}").json()["members"] == [])
    assert http.get(member.path).status_code == 404


def test_topics_by_pattern(http: httpx.Client, group: str, filled: str, join: Callable[..., Member]) -> None:
    member = join("", pattern=f"{filled[:8]}.*", **{"from": "earliest"})
    assert sorted(member.read(COUNT)) == ALL


def test_only_so_many(monkeypatch: pytest.MonkeyPatch, new_gateway: Callable[..., GatewayProcess], topic: str) -> None:
    monkeypatch.setenv("HEADRACE_GATEWAY_SESSIONS_MAX", "1")
    with new_gateway().client() as http:
        member = Member(http, "g", topics=[topic])
        refused = http.post("/api/v1/consumer-groups/g/sessions", json={"topics": [topic]})
        assert (refused.status_code, "sessions_max" in refused.json()["detail"]) == (429, True)
        assert refused.headers["retry-after"]
        member.leave()
        Member(http, "g", topics=[topic]).leave()


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({}, 422, "topics"),
        ({"topics": ["a"], "pattern": "b"}, 422, "pattern"),
        ({"topics": ["no-such-topic"]}, 404, "no topic"),
        ({"topics": []}, 422, "topics"),
        ({"pattern": "("}, 422, "^("),
        ({"topics": ["a"], "from": "middle"}, 422, "from"),
        ({"topics": ["a"], "idle_ms": 1}, 422, "idle_ms"),
    ],
)
def test_sessions_that_cannot_be(http: httpx.Client, body: dict[str, Any], status: int, word: str) -> None:
    refused = http.post("/api/v1/consumer-groups/g/sessions", json=body)
    assert refused.status_code == status, refused.text
    assert word in refused.json()["detail"], refused.json()
    assert refused.json()["fix"]


def test_another_session_takes_over_from_a_killed_gateway(
    new_gateway: Callable[..., GatewayProcess], http: httpx.Client, group: str, filled: str
) -> None:
    doomed = new_gateway()
    with doomed.client() as client:
        first = Member(client, group, topics=[filled], session_timeout_ms=6000)
        done = [each["value"] for each in first.until(lambda reply: bool(reply["messages"]))["messages"]]
        first.commit()
        doomed.kill()
    second = Member(http, group, topics=[filled])
    rest = second.read(COUNT - len(done))
    assert sorted(done + rest) == ALL, "what was committed is not read again, and the rest is read"
    second.leave()
    doomed.start()
    with doomed.client() as client:
        assert client.get(f"{first.path}/messages").status_code == 404
