"""The cluster by REST, on four real brokers in two racks: what it shows, and what it moves only when it is told to."""

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from gateway_process import SECONDS, GatewayProcess

from eventually import collected, until
from headrace.testing import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(4, racks=["a", "b", "a", "b"]) as running:
        yield running


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[httpx.Client]:
    running = GatewayProcess(cluster.bootstrap).start()
    with running.client() as client:
        until(lambda: [each for each in brokers(client) if each["alive"]], lambda alive: len(alive) == 4)
        yield client
    running.stop()


def brokers(api: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get("/api/v1/cluster").json()["brokers"]
    return found


def create(api: httpx.Client, replicas: list[list[int]]) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    made = api.post("/api/v1/topics", json={"name": name, "replicas": replicas})
    assert made.status_code == 201, made.text
    until(lambda: partitions(api, name), lambda found: all(len(each["isr"]) == len(each["replicas"]) for each in found))
    return name


def partitions(api: httpx.Client, topic: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/api/v1/topics/{topic}").json()["partitions"]
    return found


def test_brokers_racks_and_disks(api: httpx.Client) -> None:
    topic = create(api, [[1, 2], [3, 4]])
    shown = api.get("/api/v1/cluster").json()
    assert [(each["broker"], each["rack"], each["alive"]) for each in shown["brokers"]] == [
        (1, "a", True),
        (2, "b", True),
        (3, "a", True),
        (4, "b", True),
    ]
    assert shown["controller"] in (1, 2, 3, 4)
    assert (shown["offline"], shown["reassignments"]) == ([], [])
    (directory,) = api.get("/api/v1/brokers/1/log-dirs").json()["log_dirs"]
    assert directory["free_bytes"] > 0
    assert topic in {each["topic"] for each in directory["replicas"]}
    unknown = api.get("/api/v1/brokers/9/log-dirs")
    assert (unknown.status_code, "no broker 9" in unknown.json()["detail"]) == (404, True)
    assert api.get("/ready").json()["brokers"] == 4


def test_a_move_is_a_plan_until_it_is_confirmed(api: httpx.Client) -> None:
    topic = create(api, [[1, 2]])
    wanted = {"partitions": [{"topic": topic, "partition": 0, "replicas": [3, 4]}]}
    plan = api.post("/api/v1/reassignments", json=wanted).json()
    assert (plan["begun"], plan["moves"][0]["from"], plan["moves"][0]["to"]) == (False, [1, 2], [3, 4])
    assert partitions(api, topic)[0]["replicas"] == [1, 2]
    assert api.post("/api/v1/reassignments?confirm=true", json=wanted).json()["begun"]
    until(lambda: partitions(api, topic)[0], lambda each: each["replicas"] == [3, 4] and sorted(each["isr"]) == [3, 4])
    until(lambda: api.get("/api/v1/reassignments").json()["reassignments"], lambda moving: moving == [])
    for bad, status in (([9], 422), ([1, 1], 422)):
        wanted["partitions"][0]["replicas"] = bad
        assert api.post("/api/v1/reassignments?confirm=true", json=wanted).status_code == status
    wanted["partitions"][0]["topic"] = "no-such-topic"
    assert api.post("/api/v1/reassignments", json=wanted).status_code == 404


RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
THROTTLED = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")


def throttle(api: httpx.Client, topic: str, rate: str | None) -> None:
    for number in (1, 2, 3, 4):
        assert api.patch(f"/api/v1/brokers/{number}/configs", json=dict.fromkeys(RATES, rate)).status_code == 200
    every = None if rate is None else "*"
    assert api.patch(f"/api/v1/topics/{topic}/configs", json=dict.fromkeys(THROTTLED, every)).status_code == 200


def test_a_move_is_throttled_shown_and_cancelled(api: httpx.Client, cluster: Cluster) -> None:
    topic = create(api, [[1, 2]])
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for _ in range(10):
        producer.produce(topic, b"x" * 200_000, partition=0)
    assert producer.flush(SECONDS) == 0
    throttle(api, topic, "1000")
    wanted = {"partitions": [{"topic": topic, "partition": 0, "replicas": [1, 4]}]}
    begun = api.post("/api/v1/reassignments?confirm=true", json=wanted)
    assert (begun.status_code, begun.json()["bytes"] > 2_000_000) == (200, True), begun.text
    (moving,) = api.get("/api/v1/reassignments").json()["reassignments"]
    assert (moving["topic"], moving["adding"], moving["removing"]) == (topic, [4], [2])
    assert moving["copied_bytes"] < moving["total_bytes"]
    assert [each["topic"] for each in api.delete("/api/v1/reassignments").json()["reassignments"]] == [topic]
    until(lambda: partitions(api, topic)[0]["replicas"], lambda replicas: replicas == [1, 2])
    throttle(api, topic, None)


def test_a_dead_broker_is_no_target(api: httpx.Client, cluster: Cluster) -> None:
    topic = create(api, [[1, 2]])
    cluster.kill(4)
    try:
        until(lambda: brokers(api)[3]["alive"], lambda alive: not alive)
        wanted = {"partitions": [{"topic": topic, "partition": 0, "replicas": [1, 4]}]}
        refused = api.post("/api/v1/reassignments?confirm=true", json=wanted)
        assert (refused.status_code, "not alive" in refused.json()["detail"]) == (422, True)
        assert api.get("/api/v1/brokers/4/log-dirs").status_code == 409
    finally:
        cluster.start(4)
        until(lambda: brokers(api)[3]["alive"], bool)


def test_leaders_go_back_to_the_preferred_replicas(api: httpx.Client, cluster: Cluster) -> None:
    topic = create(api, [[2, 1], [2, 3]])
    cluster.kill(2)
    try:
        until(lambda: partitions(api, topic), lambda found: [each["leader"] for each in found] == [1, 3])
    finally:
        cluster.start(2)
    until(lambda: partitions(api, topic), lambda found: all(2 in each["isr"] for each in found))
    asked = {"type": "preferred", "topics": [topic]}
    plan = api.post("/api/v1/elections", json=asked).json()
    if plan["elections"]:  # the controller may have given it back by itself
        assert not plan["held"]
        assert {each["then"] for each in plan["elections"]} == {2}
        held = api.post("/api/v1/elections?confirm=true", json=asked).json()
        assert all(each["error"] is None for each in held["elections"]), held
    until(lambda: partitions(api, topic), lambda found: [each["leader"] for each in found] == [2, 2])
    assert api.post("/api/v1/elections", json={"topics": ["no-such-topic"]}).status_code == 404


def test_a_broker_is_drained(api: httpx.Client) -> None:
    topic = create(api, [[3, 4], [3, 2]])
    plan = api.post("/api/v1/brokers/3/drain").json()
    assert not plan["begun"]
    moved = [each for each in plan["moves"] if each["topic"] == topic]
    assert [each["partition"] for each in moved] == [0, 1]
    assert all(3 not in each["to"] for each in plan["moves"])
    assert api.post("/api/v1/brokers/3/drain?confirm=true").json()["begun"]
    until(lambda: brokers(api)[2]["replicas"], lambda replicas: replicas == 0)
    assert api.post("/api/v1/brokers/3/drain").json()["moves"] == []
    assert api.post("/api/v1/brokers/9/drain").status_code == 404
    back = api.post("/api/v1/cluster/rebalance?confirm=true").json()
    assert back["begun"]
    until(lambda: brokers(api)[2]["replicas"], lambda replicas: replicas > 0)


def test_transactions_are_listed_and_described(api: httpx.Client, cluster: Cluster) -> None:
    topic = create(api, [[1, 2]])
    id = f"copier-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": id, "log_level": 0})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(SECONDS) == 0
    found = api.get(f"/api/v1/transactions/{id}").json()
    assert (found["state"], found["partitions"]) == ("Ongoing", [{"topic": topic, "partition": 0}])
    assert found["running_ms"] >= 0
    ongoing = api.get("/api/v1/transactions", params={"state": "Ongoing"}).json()["transactions"]
    assert [each["id"] for each in ongoing] == [id]
    producer.commit_transaction(SECONDS)
    until(lambda: api.get(f"/api/v1/transactions/{id}").json()["partitions"], lambda left: left == [])
    unknown = api.get("/api/v1/transactions/nobody")
    assert (unknown.status_code, unknown.json()["title"]) == (404, "Unknown transactional id")


def test_a_session_goes_on_when_its_coordinator_dies(api: httpx.Client, cluster: Cluster) -> None:
    topic, group = create(api, [[1, 2, 3], [2, 3, 1]]), f"g-{uuid.uuid4().hex[:12]}"
    opened = api.post(f"/api/v1/consumer-groups/{group}/sessions", json={"topics": [topic]})
    path = opened.headers["location"]

    def read(values: set[str]) -> None:
        for index, value in enumerate(sorted(values)):
            place = {"value": value, "partition": index % 2}
            assert api.post(f"/api/v1/topics/{topic}/messages", json=place).status_code < 300

        def taken() -> list[str]:
            polled = api.get(f"{path}/messages", params={"wait_ms": 1000}).json()
            if polled["offsets"]:
                until(
                    lambda found=polled: api.post(f"{path}/offsets", json={"offsets": found["offsets"]}).status_code,
                    lambda status: status == 200,
                )
            return [each["value"] for each in polled["messages"]]

        collected(taken, lambda seen: values <= set(seen))

    read({"a", "b", "c", "d"})
    coordinator = api.get(f"/api/v1/consumer-groups/{group}").json()["coordinator"]
    cluster.kill(coordinator)
    try:
        read({"e", "f", "g", "h"})
        assert api.get(f"/api/v1/consumer-groups/{group}/lag").json()["lag"] == 0
    finally:
        cluster.start(coordinator)
    assert api.delete(path).status_code == 204
