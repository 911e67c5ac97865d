"""An Idempotency-Key: however often a POST is repeated, to whichever gateway and over their death, it is stored once."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx
import pytest
from dying_gateway import STEPS
from gateway_process import GatewayProcess

from eventually import until
from headrace.testing import Broker

# The others are run by `make verify`.
SHORT = ("after-flush", "after-commit_transaction")
PROGRAM = str(Path(__file__).with_name("dying_gateway.py"))


@pytest.fixture(scope="module")
def other_gateway(broker: Broker) -> Iterator[GatewayProcess]:
    running = GatewayProcess(broker.bootstrap).start()
    yield running
    running.stop()


@pytest.fixture
def other(other_gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with other_gateway.client() as client:
        yield client


def post(http: httpx.Client, topic: str, key: str, body: Any) -> httpx.Response:
    return http.post(f"/api/v1/topics/{topic}/messages", json=body, headers={"Idempotency-Key": key})


def values(http: httpx.Client, topic: str, count: int) -> list[Any]:
    """A commit is answered a moment before its markers let readers see the messages: waits until there are as many."""
    page = {"partition": 0, "limit": 1000}
    found = until(
        lambda: http.get(f"/topics/{topic}/messages", params=page).json()["messages"], lambda seen: len(seen) >= count
    )
    return [message["value"] for message in found]


def test_a_repeated_post_is_stored_once(http: httpx.Client, topic: str) -> None:
    key = uuid.uuid4().hex
    first = post(http, topic, key, {"value": "a"})
    again = post(http, topic, key, {"value": "a"})
    assert first.status_code == again.status_code == 200, first.text
    assert first.json() == again.json()
    assert first.headers["idempotency-replayed"] == "false"
    assert again.headers["idempotency-replayed"] == "true"
    assert values(http, topic, 1) == ["a"]


def test_a_batch_is_stored_once_and_whole(http: httpx.Client, topic: str) -> None:
    key, body = uuid.uuid4().hex, [{"value": str(number)} for number in range(50)]
    replies = [post(http, topic, key, body).json() for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]
    assert values(http, topic, 50) == [str(number) for number in range(50)]


def test_another_gateway_knows_the_key(http: httpx.Client, other: httpx.Client, topic: str) -> None:
    for _ in range(3):
        key = uuid.uuid4().hex
        assert post(http, topic, key, {"value": key}).json() == post(other, topic, key, {"value": key}).json()
    assert len(values(http, topic, 3)) == 3


def test_another_body_under_the_same_key_is_refused(http: httpx.Client, topic: str) -> None:
    key = uuid.uuid4().hex
    post(http, topic, key, {"value": "a"})
    reused = post(http, topic, key, {"value": "b"})
    assert (reused.status_code, reused.json()["title"]) == (422, "Idempotency key reused")
    assert values(http, topic, 1) == ["a"]


def test_the_same_key_for_another_topic_is_another_key(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    key, topics = uuid.uuid4().hex, [new_topic(), new_topic()]
    for topic in topics:
        assert post(http, topic, key, {"value": topic}).headers["idempotency-replayed"] == "false"
    assert [values(http, topic, 1) for topic in topics] == [[topics[0]], [topics[1]]]


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there"])
def test_a_key_that_is_none_is_refused(http: httpx.Client, topic: str, key: str) -> None:
    refused = post(http, topic, key, {"value": "a"})
    assert (refused.status_code, refused.json()["title"]) == (422, "Invalid idempotency key")


def test_what_cannot_be_stored_leaves_the_rest_alone(http: httpx.Client, topic: str) -> None:
    bodies = [{"value": str(number), "partition": 99 if number == 3 else 0} for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda body: post(http, topic, uuid.uuid4().hex, body), bodies))
    assert [reply.status_code for reply in replies] == [200, 200, 200, 404, 200, 200]
    assert sorted(values(http, topic, 5)) == ["0", "1", "2", "4", "5"]


def test_two_gateways_at_once(http: httpx.Client, other: httpx.Client, topic: str) -> None:
    """Every key is sent to both at the same time: they take the slots from each other, and still agree."""
    keys = [uuid.uuid4().hex for _ in range(20)]
    with ThreadPoolExecutor(8) as pool:
        asked = [(key, client) for key in keys for client in (http, other)]
        replies = list(pool.map(lambda each: post(each[1], topic, each[0], {"value": each[0]}), asked))
    for reply in replies:
        assert reply.status_code == 200, reply.text
    for first, second in zip(replies[::2], replies[1::2], strict=True):
        assert first.json() == second.json()
    assert sorted(values(http, topic, len(keys))) == sorted(keys)


@pytest.mark.parametrize(
    "step", [pytest.param(step, marks=() if step in SHORT else pytest.mark.long) for step in STEPS]
)
def test_a_gateway_killed_at_any_step(http: httpx.Client, broker: Broker, topic: str, step: str) -> None:
    key = uuid.uuid4().hex
    doomed = GatewayProcess(broker.bootstrap, program=(PROGRAM, step)).start()
    with doomed.client() as client, pytest.raises(httpx.TransportError):
        post(client, topic, key, {"value": "once"})
    assert doomed.process is not None
    assert doomed.process.wait(60) == -9
    stored = post(http, topic, key, {"value": "once"})
    assert stored.status_code == 200, stored.text
    assert stored.headers["idempotency-replayed"] == ("true" if step == "after-commit_transaction" else "false")
    assert values(http, topic, 1) == ["once"]


def test_what_is_remembered_has_an_end(new_gateway: Callable[..., GatewayProcess]) -> None:
    """Beyond it new keys are turned away; known ones are still answered. A broker of its own: nobody else stored keys."""
    limit = ("--set", "idempotency_bytes_max=3000")
    with Broker() as alone, new_gateway(*limit, bootstrap=alone.bootstrap).client() as http:
        assert http.post("/api/v1/topics", json={"name": "t"}).status_code == 201
        keys = [uuid.uuid4().hex for _ in range(40)]
        stored = list(takewhile(lambda key: post(http, "t", key, {"value": key}).status_code == 200, keys))
        assert 5 <= len(stored) <= 7, "each takes some 500 bytes"
        refused = post(http, "t", keys[-1], {"value": 1})
        assert refused.status_code == 429
        assert "idempotency_bytes_max" in refused.json()["detail"] and int(refused.headers["retry-after"]) > 0
        again = post(http, "t", keys[0], {"value": keys[0]})
        assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
        assert http.post("/topics/t/messages", json={"value": "without a key"}).status_code == 200
