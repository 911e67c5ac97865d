"""Groups by REST: listed, described, measured, committed for, reset and deleted, before one real broker."""

import uuid
from collections.abc import Callable

import httpx
import pytest
from confluent_kafka import Consumer, Producer
from gateway_process import SECONDS

from headrace.testing import Broker

FIRST_MS = 1_700_000_000_000


@pytest.fixture
def group() -> str:
    return f"g-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def filled(broker: Broker, new_topic: Callable[..., str]) -> str:
    """Two partitions with ten records each, a second apart."""
    topic = new_topic(partitions=2, config={"retention.ms": "-1"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for partition in (0, 1):
        for number in range(10):
            producer.produce(topic, b"v", partition=partition, timestamp=FIRST_MS + 1000 * number)
    assert producer.flush(SECONDS) == 0
    return topic


def commit(http: httpx.Client, group: str, topic: str, *offsets: int) -> httpx.Response:
    places = [{"topic": topic, "partition": index, "offset": offset} for index, offset in enumerate(offsets)]
    return http.post(f"/api/v1/consumer-groups/{group}/offsets", json={"offsets": places})


def committed(http: httpx.Client, group: str) -> list[int]:
    found = http.get(f"/api/v1/consumer-groups/{group}/offsets").json()["offsets"]
    return [each["offset"] for each in sorted(found, key=lambda each: each["partition"])]


def test_commit_describe_lag_and_delete(http: httpx.Client, group: str, filled: str) -> None:
    path = f"/api/v1/consumer-groups/{group}"
    assert commit(http, group, filled, 4, 10).status_code == 200
    listed = {each["group"]: each for each in http.get("/api/v1/consumer-groups").json()["groups"]}
    assert listed[group] == {"group": group, "state": "empty", "type": "classic", "coordinator": 1, "members": 0}
    described = http.get(path).json()
    assert (described["state"], described["lag"], described["members"]) == ("empty", 6, [])
    lag = http.get(f"{path}/lag").json()
    assert (lag["lag"], lag["topics"]) == (6, [{"topic": filled, "partitions": 2, "lag": 6, "worst": 6}])
    assert [each["lag"] for each in lag["partitions"]] == [6, 0]
    assert http.get(f"{path}/members").json() == {"group": group, "members": []}
    assert http.delete(path).status_code == 204
    for gone in (path, f"{path}/lag", f"{path}/offsets", f"{path}/members"):
        assert http.get(gone).status_code == 404, gone
    assert http.delete(path).status_code == 404


def test_the_short_dialect(http: httpx.Client, group: str, filled: str) -> None:
    body = {"group": group, "topic": filled, "partition": 1, "offset": 7, "metadata": "by hand"}
    reply = http.post("/consumer/commit", json=body)
    assert reply.status_code == 200, reply.text
    (kept,) = http.get(f"/api/v1/consumer-groups/{group}/offsets").json()["offsets"]
    assert kept == {"topic": filled, "partition": 1, "offset": 7, "metadata": "by hand"} == reply.json()["offsets"][0]


def test_members_are_shown_and_protect_their_group(http: httpx.Client, broker: Broker, group: str, filled: str) -> None:
    path = f"/api/v1/consumer-groups/{group}"
    settings = {"group.id": group, "client.id": "till", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "auto.offset.reset": "earliest", **settings})
    try:
        consumer.subscribe([filled])
        assert consumer.consume(1, SECONDS)
        (member,) = http.get(f"{path}/members").json()["members"]
        assert (member["client"], member["host"], len(member["partitions"])) == ("till", "127.0.0.1", 2)
        assert {each["member"] for each in http.get(path).json()["partitions"]} == {member["member"]}
        for refused in (
            commit(http, group, filled, 1),
            http.post(f"{path}/offsets/reset", json={"to": "latest"}),
            http.delete(path),
        ):
            assert refused.status_code == 409, refused.text
            assert "active member" in refused.json()["detail"]
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("target", "after"),
    [
        ({"to": "earliest"}, [0, 0]),
        ({"to": "latest"}, [10, 10]),
        ({"to_offset": 6}, [6, 6]),
        ({"to_time": str(FIRST_MS + 2500)}, [3, 3]),
        ({"to_time": "2023-11-14T22:13:22.500Z"}, [3, 3]),
        ({"by_duration": "1h"}, [10, 10]),
        ({"shift_by": -5}, [0, 4]),
    ],
)
def test_a_reset_is_a_plan_until_it_is_confirmed(
    http: httpx.Client, group: str, filled: str, target: dict[str, object], after: list[int]
) -> None:
    commit(http, group, filled, 4, 9)
    path = f"/api/v1/consumer-groups/{group}/offsets/reset"
    plan = http.post(path, json=target).json()
    assert (plan["applied"], [each["after"] for each in plan["partitions"]]) == (False, after)
    assert plan["skipped"] == sum(max(0, to - was) for was, to in zip([4, 9], after, strict=True))
    assert plan["repeated"] == sum(max(0, was - to) for was, to in zip([4, 9], after, strict=True))
    assert committed(http, group) == [4, 9]
    assert http.post(f"{path}?confirm=true", json=target).json() == {**plan, "applied": True}
    assert committed(http, group) == after


def test_a_reset_of_chosen_partitions_and_of_a_new_group(http: httpx.Client, group: str, filled: str) -> None:
    path = f"/api/v1/consumer-groups/{group}/offsets/reset?confirm=true"
    each = [{"topic": filled, "partition": 0, "offset": 3}, {"topic": filled, "partition": 1, "offset": 80}]
    assert http.post(path, json={"offsets": each}).json()["applied"]
    assert committed(http, group) == [3, 10], "never beyond what there is"
    chosen = {"topics": [{"topic": filled, "partitions": [1]}], "to": "earliest"}
    assert http.post(path, json=chosen).status_code == 200
    assert committed(http, group) == [3, 0]


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({}, 422, "exactly one"),
        ({"to": "earliest", "to_offset": 1}, 422, "exactly one"),
        ({"to": "middle"}, 422, "to"),
        ({"to_time": "soon"}, 422, "soon"),
        ({"by_duration": "soon"}, 422, "soon"),
        ({"to": "latest"}, 404, "no group"),
        ({"to": "latest", "topics": [{"topic": "no-such-topic"}]}, 404, "no topic"),
        ({"shift_by": 1, "topics": [{"topic": "FILLED"}]}, 422, "no commit to shift"),
        ({"to": "latest", "topics": [{"topic": "FILLED", "partitions": [7]}]}, 404, "no partition 7"),
    ],
)
def test_resets_that_make_no_sense(
    http: httpx.Client, group: str, filled: str, body: dict[str, object], status: int, word: str
) -> None:
    for chosen in body.get("topics", ()):  # type: ignore[attr-defined]
        chosen["topic"] = chosen["topic"].replace("FILLED", filled)
    reply = http.post(f"/api/v1/consumer-groups/{group}/offsets/reset", json=body)
    assert reply.status_code == status, reply.text
    assert word in reply.json()["detail"]
    assert reply.json()["fix"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"topic": "FILLED", "partition": 0}, 422),
        ({"topic": "FILLED", "partition": 0, "offset": -1}, 422),
        ({"topic": "FILLED", "partition": 0, "offset": 1.5}, 422),
        ({"topic": "FILLED", "partition": 0, "offset": 2**63}, 422),
        ({"offsets": []}, 422),
        ({"offsets": [], "topic": "FILLED"}, 422),
        ({"topic": "FILLED", "partition": 9, "offset": 1}, 404),
        ({"topic": "no-such-topic", "partition": 0, "offset": 1}, 404),
        ({"topic": "FILLED", "partition": 0, "offset": 1, "session": "lost"}, 404),
    ],
)
def test_commits_that_make_no_sense(
    http: httpx.Client, group: str, filled: str, body: dict[str, object], status: int
) -> None:
    if body.get("topic") == "FILLED":
        body = {**body, "topic": filled}
    reply = http.post(f"/api/v1/consumer-groups/{group}/offsets", json=body)
    assert reply.status_code == status, reply.text
    assert reply.json()["detail"] and reply.json()["fix"]
