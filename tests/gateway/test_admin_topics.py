"""Topics and configs by REST, before one real broker."""

import uuid
from collections.abc import Callable

import httpx
import pytest


@pytest.fixture
def name() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


def assert_problem(reply: httpx.Response, status: int, word: str) -> None:
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    said = reply.json()
    assert word in said["detail"], said
    assert said["fix"], said


def test_create_describe_and_list(http: httpx.Client, name: str) -> None:
    made = http.post("/api/v1/topics", json={"name": name, "partitions": 3, "configs": {"retention.ms": "60000"}})
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"/api/v1/topics/{name}"
    described = http.get(f"/api/v1/topics/{name}").json()
    assert described == made.json()
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2]
    assert all((each["start_offset"], each["end_offset"]) == (0, 0) for each in described["partitions"])
    assert [(each["name"], each["value"]) for each in described["configs"] if each["source"] == "topic"] == [
        ("retention.ms", "60000")
    ]
    listed = http.get("/api/v1/topics", params={"prefix": name}).json()["topics"]
    assert [(each["topic"], each["partitions"], each["offline"]) for each in listed] == [(name, 3, 0)]


def test_internal_topics_are_listed_on_request(http: httpx.Client, name: str) -> None:
    http.post("/api/v1/consumer-groups/nobody-reads/offsets", json={"topic": name, "partition": 0, "offset": 0})
    plain = {each["topic"] for each in http.get("/api/v1/topics").json()["topics"]}
    every = {each["topic"] for each in http.get("/api/v1/topics?internal=true").json()["topics"]}
    assert not {each for each in plain if each.startswith("__")}
    assert plain <= every


def test_a_check_makes_nothing(http: httpx.Client, name: str) -> None:
    reply = http.post("/api/v1/topics?validate_only=true", json={"name": name})
    assert reply.status_code == 200, reply.text
    assert_problem(http.get(f"/api/v1/topics/{name}"), 404, name)


def test_partitions_are_added_and_never_taken_away(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=2)
    grown = http.post(f"/api/v1/topics/{topic}/partitions", json={"total": 5})
    assert len(grown.json()["partitions"]) == 5
    assert http.post(f"/api/v1/topics/{topic}/partitions", json={"total": 3}).status_code == 422


def test_a_deleted_topic_is_gone(http: httpx.Client, topic: str) -> None:
    assert http.delete(f"/api/v1/topics/{topic}").status_code == 204
    assert_problem(http.get(f"/api/v1/topics/{topic}"), 404, topic)
    assert_problem(http.delete(f"/api/v1/topics/{topic}"), 404, topic)


def test_configs_are_changed_and_taken_back(http: httpx.Client, topic: str) -> None:
    path = f"/api/v1/topics/{topic}/configs"

    def retention() -> tuple[str, str]:
        (found,) = [each for each in http.get(path).json()["configs"] if each["name"] == "retention.ms"]
        return found["value"], found["source"]

    before = retention()
    assert http.patch(path, json={"retention.ms": "1234567"}).status_code == 200
    assert retention() == ("1234567", "topic")
    assert http.patch(path, json={"retention.ms": None}).status_code == 200
    assert retention() == before
    refused = http.patch(path, json={"retention.ms": "soon"})
    assert_problem(refused, 422, "retention.ms")
    assert_problem(http.patch(path, json={"no.such.setting": "1"}), 422, "no.such.setting")


def test_configs_of_a_broker(http: httpx.Client) -> None:
    path = "/api/v1/brokers/1/configs"
    configs = {each["name"]: each for each in http.get(path).json()["configs"]}
    assert configs["num.partitions"]["value"] == "2"
    changed = http.patch(path, json={"log.retention.ms": "777000"})
    assert changed.status_code == 200, changed.text
    configs = {each["name"]: each for each in changed.json()["configs"]}
    assert (configs["log.retention.ms"]["value"], configs["log.retention.ms"]["source"]) == (
        "777000",
        "broker (dynamic)",
    )
    assert http.patch(path, json={"log.retention.ms": None}).status_code == 200
    assert_problem(http.get("/api/v1/brokers/99/configs"), 404, "no broker 99")
    assert_problem(http.patch("/api/v1/brokers/99/configs", json={"log.retention.ms": "1"}), 404, "no broker 99")


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"name": "no/slash"}, 422, "name"),
        ({"name": ".."}, 422, ".."),
        ({"name": "x", "partitions": 0}, 422, "partitions"),
        ({"name": "x", "partitions": "3"}, 422, "partitions"),
        ({"name": "x", "replication_factor": 9}, 422, "replication factor"),
        ({"name": "x", "configs": {"retention.ms": "soon"}}, 422, "retention.ms"),
        ({"name": "x", "colour": "red"}, 422, "colour"),
        ({}, 422, "name"),
    ],
)
def test_topics_that_cannot_be(http: httpx.Client, body: dict[str, object], status: int, word: str) -> None:
    assert_problem(http.post("/api/v1/topics", json=body), status, word)


def test_one_that_exists_already(http: httpx.Client, topic: str) -> None:
    reply = http.post("/api/v1/topics", json={"name": topic})
    assert_problem(reply, 409, topic)
    assert reply.json()["kafka_error"] == "TOPIC_ALREADY_EXISTS"


def test_bad_json_and_oversized_bodies(http: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    assert http.post("/api/v1/topics", content=b"{", headers=headers).status_code == 422
    endless = http.post("/api/v1/topics", content=(b"x" * (1 << 20) for _ in range(40)), headers=headers)
    assert endless.status_code == 413


def test_health_and_readiness(http: httpx.Client, topic: str) -> None:
    assert http.get("/health").json() == {"status": "ok"}
    ready = http.get("/ready").json()
    assert (ready["status"], ready["brokers"], ready["partitions_without_leader"]) == ("ready", 1, 0)


def test_not_ready_without_brokers(new_gateway: Callable[..., object]) -> None:
    with new_gateway(bootstrap="127.0.0.1:1").client() as client:  # type: ignore[attr-defined]
        assert client.get("/health").status_code == 200
        assert_problem(client.get("/ready"), 503, "no broker answers")
        assert_problem(client.get("/api/v1/topics"), 503, "no broker answers")
        assert client.get("/ready").headers["retry-after"]
