"""Messages as lines (NDJSON), of any number, in and out."""

import json
from collections.abc import Callable, Iterator

import httpx
import pytest
from gateway_process import GatewayProcess

NDJSON = {"Content-Type": "application/x-ndjson"}
LINES = {"Accept": "application/x-ndjson"}


def lines_of(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield json.dumps({"key": str(number), "value": f"value {number}"}).encode() + b"\n"


def test_a_stream_of_lines_is_stored_and_read_as_one(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    topic, count = new_topic(partitions=2), 5000
    stored = http.post(f"/topics/{topic}/messages", content=lines_of(count), headers=NDJSON)
    assert stored.status_code == 200, stored.text
    assert stored.json()["stored"] == count
    seen: list[str] = []
    for partition, span in stored.json()["partitions"].items():
        path = f"/api/v1/topics/{topic}/partitions/{partition}/messages"
        with http.stream("GET", path, headers=LINES) as reply:
            assert reply.headers["content-type"].startswith("application/x-ndjson")
            messages = [json.loads(line) for line in reply.iter_lines()]
        assert messages[-1]["offset"] == span["last_offset"]
        seen += [message["value"] for message in messages]
    assert sorted(seen) == sorted(f"value {number}" for number in range(count))


def test_lines_may_be_cut_anywhere(http: httpx.Client, topic: str) -> None:
    whole = b"\n" + b"".join(lines_of(20)).rstrip(b"\n")
    pieces = (whole[at : at + 7] for at in range(0, len(whole), 7))
    assert http.post(f"/topics/{topic}/messages", content=pieces, headers=NDJSON).json()["stored"] == 20


@pytest.mark.parametrize("bad", [b"{", b'{"vlaue": 1}', b"7"])
def test_what_came_before_a_bad_line_is_stored(http: httpx.Client, topic: str, bad: bytes) -> None:
    content = b"".join(lines_of(3)) + bad + b"\n" + b"".join(lines_of(3))
    reply = http.post(f"/topics/{topic}/messages", content=content, headers=NDJSON)
    assert reply.status_code in (400, 422)
    assert reply.json()["detail"].startswith("line 4: ")
    assert reply.json()["stored"] == 3
    assert len(http.get(f"/topics/{topic}/messages").json()["messages"]) == 3


def test_lines_that_are_refused_are_not_counted(http: httpx.Client, topic: str) -> None:
    wrong = b'{"value": "x", "partition": 99}\n'
    content = b"".join(lines_of(499)) + wrong + b"".join(lines_of(2500))
    reply = http.post(f"/topics/{topic}/messages", content=content, headers=NDJSON)
    assert reply.status_code == 404, reply.text
    stored = http.get(f"/topics/{topic}/messages", params={"offset": "latest"}).json()["next_offset"]
    assert reply.json()["stored"] == stored > 0


def test_a_long_line_counts_as_in_flight(new_gateway: Callable[..., GatewayProcess], topic: str) -> None:
    with new_gateway("--set", "in_flight_bytes_max=3000000").client() as http:
        pieces = (b" " * 100_000 for _ in range(40))
        reply = http.post(f"/topics/{topic}/messages", content=pieces, headers=NDJSON)
        assert (reply.status_code, reply.json()["title"]) == (429, "Too many requests")


def test_lines_under_an_idempotency_key_are_one_batch(http: httpx.Client, topic: str) -> None:
    for _ in range(2):
        headers = {**NDJSON, "Idempotency-Key": topic}
        reply = http.post(f"/topics/{topic}/messages", content=b"".join(lines_of(3)), headers=headers)
        assert [place["offset"] for place in reply.json()["messages"]] == [0, 1, 2]
    # They are seen a moment after the reply, when their transaction has ended in the partition too.
    assert len(http.get(f"/topics/{topic}/messages", params={"wait_ms": 10_000}).json()["messages"]) == 3


def test_a_limit_ends_a_stream(http: httpx.Client, topic: str) -> None:
    http.post(f"/topics/{topic}/messages", content=lines_of(50), headers=NDJSON)
    reply = http.get(f"/topics/{topic}/messages", params={"limit": 7, "offset": 5}, headers=LINES)
    assert [json.loads(line)["offset"] for line in reply.iter_lines()] == list(range(5, 12))


def test_a_stream_follows_the_log(http: httpx.Client, topic: str) -> None:
    http.post(f"/topics/{topic}/messages", json={"value": "before"})
    with http.stream("GET", f"/topics/{topic}/messages", params={"follow": "true"}) as reply:
        lines = reply.iter_lines()
        assert json.loads(next(lines))["value"] == "before"
        for number in range(3):
            http.post(f"/topics/{topic}/messages", json={"value": number})
            assert json.loads(next(lines))["value"] == str(number)


def test_a_stream_of_an_unknown_topic_is_a_problem(http: httpx.Client) -> None:
    assert http.post("/topics/no-such/messages", content=lines_of(1), headers=NDJSON).status_code == 404
    assert http.get("/topics/no-such/messages", headers=LINES).status_code == 404
