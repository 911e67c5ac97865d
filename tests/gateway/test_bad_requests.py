"""What is wrong is refused with its cause and its fix, and never costs more than the limits allow."""

import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from gateway_process import GatewayProcess
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as connect_socket
from websockets.typing import Origin

from eventually import until

SECONDS = 60


def refusal(reply: httpx.Response) -> tuple[int, str]:
    said = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert said["status"] == reply.status_code
    assert said["detail"] and said["fix"]
    return reply.status_code, said["title"]


BODIES: list[tuple[bytes, tuple[int, str]]] = [
    (b"", (400, "Bad JSON")),
    (b"{", (400, "Bad JSON")),
    (b'{"value": "\xff"}', (400, "Bad JSON")),
    (b'{"value": "\\ud800"}', (400, "Bad JSON")),
    (b'{"value": NaN}', (400, "Bad JSON")),
    (b"[" * 100_000, (400, "Bad JSON")),
    (b"7", (422, "Invalid message")),
    (b"[]", (422, "Invalid message")),
    (b"[7]", (422, "Invalid message")),
    (b"{}", (422, "Invalid message")),
    (b'{"messages": []}', (422, "Invalid message")),
    (b'{"messages": {"value": 1}}', (422, "Invalid message")),
    (b'{"messages": [{"value": 1}], "more": 1}', (422, "Invalid message")),
    (b'{"value": 1, "vlaue": 2}', (422, "Invalid message")),
    (b'{"value": 1, "partition": -1}', (422, "Invalid message")),
    (b'{"value": 1, "partition": "0"}', (422, "Invalid message")),
    (b'{"value": 1, "partition": true}', (422, "Invalid message")),
    (b'{"value": 1, "partition": 99999999999}', (422, "Invalid message")),
    (b'{"value": 1, "timestamp": -1}', (422, "Invalid message")),
    (b'{"value": 1, "timestamp": 1e99}', (422, "Invalid message")),
    (b'{"value": 1, "encoding": "base64"}', (422, "Invalid message")),
    (b'{"value": "a", "encoding": "rot13"}', (422, "Invalid message")),
    (b'{"value": "a", "encoding": ["text"]}', (422, "Invalid message")),
    (b'{"value": "*", "encoding": "base64"}', (422, "Invalid message")),
    (b'{"value": 1, "headers": 7}', (422, "Invalid message")),
    (b'{"value": 1, "headers": {"a": 7}}', (422, "Invalid message")),
    (b'{"value": 1, "headers": [["a"]]}', (422, "Invalid message")),
    (b'{"value": 1, "headers": [[1, "a"]]}', (422, "Invalid message")),
    (b'{"value": 1, "acks": "none"}', (422, "Invalid acks")),
    (b'{"value": 1, "acks": {}}', (422, "Invalid acks")),
    (b'{"value": 1, "partition": 99}', (404, "Unknown partition")),
]


@pytest.mark.parametrize(("body", "expected"), BODIES, ids=[repr(body[:50]) for body, _ in BODIES])
def test_bad_bodies(http: httpx.Client, topic: str, body: bytes, expected: tuple[int, str]) -> None:
    assert refusal(http.post(f"/topics/{topic}/messages", content=body)) == expected
    assert http.get(f"/topics/{topic}/messages").json()["messages"] == []


QUERIES: list[tuple[dict[str, Any], int]] = [
    ({"offset": "-1"}, 422),
    ({"offset": "x"}, 422),
    ({"offset": 10**30}, 422),
    ({"offset": "٣"}, 422),
    ({"offset": 0, "time": 0}, 422),
    ({"time": "yesterday"}, 422),
    ({"limit": 0}, 422),
    ({"limit": 10**9}, 422),
    ({"limit": "x"}, 422),
    ({"max_bytes": 0}, 422),
    ({"max_bytes": 10**9}, 422),
    ({"max_bytes": 10, "follow": "true"}, 422),
    ({"wait_ms": -1}, 422),
    ({"encoding": "rot13"}, 422),
    ({"isolation": "none"}, 422),
    ({"partition": -1}, 422),
    ({"partition": 99}, 404),
    ({"offset": 1}, 416),
]


@pytest.mark.parametrize(("query", "status"), QUERIES)
def test_bad_queries(http: httpx.Client, topic: str, query: dict[str, Any], status: int) -> None:
    assert refusal(http.get(f"/topics/{topic}/messages", params=query))[0] == status


@pytest.mark.parametrize(
    ("method", "path", "unknown", "fix"),
    [
        ("GET", "/topics/{}/messages?ofset=0", "ofset", "offset"),
        ("GET", "/topics/{}/messages?limit=1&max_byte=9", "max_byte", "max_bytes"),
        ("GET", "/api/v1/topics/{}/partitions/0/messages?offset=0&partition=1", "partition", "isolation"),
        ("POST", "/topics/{}/messages?ack=all", "ack", "acks"),
        ("GET", "/api/v1/topics?prefx=a", "prefx", "prefix"),
        ("DELETE", "/api/v1/topics/{}?confirm=true", "confirm", "none"),
        ("GET", "/health?verbose", "verbose", "none"),
        ("GET", "/api/v1/topics/{}/events?form=latest&start=latest", "form", "start"),
        ("GET", "/api/v1/topics/{}/events?a%20b=1", "a b", "start"),
    ],
)
def test_parameters_that_nothing_takes(
    http: httpx.Client, topic: str, method: str, path: str, unknown: str, fix: str
) -> None:
    """With the nearest name, or with all there are."""
    reply = http.request(method, path.format(topic), json={"value": 1} if method == "POST" else None)
    assert refusal(reply) == (422, "Unknown parameter")
    assert f"{unknown!r}" in reply.json()["detail"]
    assert fix in reply.json()["fix"]
    assert http.get(f"/topics/{topic}/messages").json()["messages"] == []


def test_parameters_that_no_socket_takes(gateway: GatewayProcess, topic: str) -> None:
    url = gateway.url.replace("http", "ws")
    with pytest.raises(InvalidStatus, match="403"), connect_socket(f"{url}/api/v1/topics/{topic}/events?strat=latest"):
        pass


def test_an_offset_out_of_range_says_which_there_are(http: httpx.Client, topic: str) -> None:
    http.post(f"/topics/{topic}/messages", json=[{"value": 1}, {"value": 2}])
    said = http.get(f"/topics/{topic}/messages", params={"offset": 7}).json()
    assert (said["earliest"], said["latest"]) == (0, 2)


@pytest.mark.parametrize("name", ["no-such-topic", "..", ".", "%2e%2e", "a%2fb", "a%00b", "ä", "x" * 300, "a b"])
def test_topics_that_are_none(http: httpx.Client, name: str) -> None:
    # A client that tidies up dots asks for something else, which is not there either.
    assert refusal(http.post(f"/api/v1/topics/{name}/messages", json={"value": 1}))[0] in (404, 405, 422)
    assert refusal(http.get(f"/api/v1/topics/{name}/partitions/0/messages"))[0] in (404, 422)


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "//topics", "/%2e%2e/%2e%2e/etc/passwd", "/ui/../../x", "/static/%00"]
)
def test_path_tricks_lead_nowhere(gateway: GatewayProcess, path: str) -> None:
    """As raw bytes: a client library would tidy them up."""
    reply = raw(gateway, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert reply.split(b" ")[1] in (b"404", b"400", b"307")
    assert b"root:" not in reply


@pytest.mark.parametrize("topic", ["__consumer_offsets", "_headrace_idempotency", "_headrace_webhooks"])
def test_our_own_topics_are_not_written_by_others(http: httpx.Client, topic: str) -> None:
    assert refusal(http.post(f"/topics/{topic}/messages", json={"value": 1})) == (403, "Reserved topic")


def test_wrong_methods_and_unknown_paths(http: httpx.Client, topic: str) -> None:
    assert refusal(http.put(f"/topics/{topic}/messages", json={}))[0] == 405
    assert refusal(http.get("/api/v1/nothing"))[0] == 404


def test_a_message_that_is_too_large(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(config={"max.message.bytes": "1000"})
    assert refusal(http.post(f"/topics/{topic}/messages", json={"value": "x" * 5000})) == (413, "Message too large")


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tight(broker: Any) -> Iterator[GatewayProcess]:
    limits = {"body_bytes_max": 100_000, "messages_max": 10, "in_flight_bytes_max": 250_000}
    limits |= {"body_seconds_max": 0.5, "head_seconds_max": 0.5}
    words = [word for name, value in limits.items() for word in ("--set", f"{name}={value}")]
    running = GatewayProcess(broker.bootstrap, *words).start()
    yield running
    running.stop()


def test_a_body_too_large(tight: GatewayProcess, topic: str) -> None:
    with tight.client() as http:
        path = f"/topics/{topic}/messages"
        assert refusal(http.post(path, json={"value": "x" * 200_000})) == (413, "Body too large")
        chunked = (b"x" * 50_000 for _ in range(5))
        assert refusal(http.post(path, content=chunked)) == (413, "Body too large")


def test_no_path_takes_a_body_without_limit(tight: GatewayProcess) -> None:
    """Nor do those of libraries: the UI's transport would read it to its end, whatever the method."""
    with tight.client() as http:
        paths = http.get("/openapi.json").json()["paths"]
        asked = [(method, path) for path, methods in paths.items() for method in methods if method != "get"]
        assert ("post", "/api/v1/webhooks") in asked
        asked += [(method, "/_nicegui_ws/socket.io/?EIO=4&transport=polling") for method in ("get", "post")]
        for method, path in asked:
            reply = http.request(method, re.sub(r"\{.*?\}", "1", path), content=(b"x" * 50_000 for _ in range(5)))
            assert refusal(reply) == (413, "Body too large"), (method, path)


def test_a_slow_body_is_cut_off_on_any_path(tight: GatewayProcess) -> None:
    reply = raw(tight, head("", 1000).replace(b"/topics//messages", b"/api/v1/webhooks") + b"{")
    assert reply.startswith(b"HTTP/1.1 408")


def test_too_many_messages(tight: GatewayProcess, topic: str) -> None:
    with tight.client() as http:
        reply = http.post(f"/topics/{topic}/messages", json=[{"value": 1}] * 11)
        assert refusal(reply) == (413, "Too many messages")
        assert refusal(http.get(f"/topics/{topic}/messages", params={"limit": 11})) == (422, "Invalid limit")


def head(topic: str, length: int) -> bytes:
    return f"POST /topics/{topic}/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def test_more_in_flight_than_allowed_is_told_to_come_back(
    new_gateway: Callable[..., GatewayProcess], topic: str
) -> None:
    """Two senders have brought nearly all of it and do not end; the third is turned away at once."""
    limits = ("--set", "body_bytes_max=100000", "--set", "in_flight_bytes_max=200000")
    running = new_gateway(*limits)
    slow = [connect(running) for _ in range(2)]
    for each in slow:
        each.sendall(head(topic, 100_000) + b" " * 99_997)
    with running.client() as http:
        # Until both are read, nothing counts.
        reply = until(
            lambda: http.post(f"/topics/{topic}/messages", json={"value": "12345"}),
            lambda reply: reply.status_code != 200,
        )
        assert refusal(reply) == (429, "Too many requests")
        assert int(reply.headers["retry-after"]) >= 1
        for each in slow:
            each.close()
        until(lambda: http.post(f"/topics/{topic}/messages", json={"value": 1}).status_code != 429)


def test_bodies_that_do_not_come_hold_nobody_up(new_gateway: Callable[..., GatewayProcess], topic: str) -> None:
    running = new_gateway("--set", "body_bytes_max=100000", "--set", "in_flight_bytes_max=200000")
    with contextlib.ExitStack() as idle, running.client() as http:
        for _ in range(5):
            idle.enter_context(connect(running)).sendall(head(topic, 100_000) + b"{")
        for _ in range(20):
            assert http.post(f"/topics/{topic}/messages", json={"value": 1}).status_code == 200


def test_bodies_of_listeners_are_not_kept(new_gateway: Callable[..., GatewayProcess], topic: str) -> None:
    """A GET has no body, whatever it sends; and this one listens for ever."""
    running = new_gateway("--set", "body_bytes_max=100000", "--set", "in_flight_bytes_max=200000")
    with contextlib.ExitStack() as listening, running.client() as http:
        for _ in range(3):
            connection = listening.enter_context(connect(running))
            asked = f"GET /api/v1/topics/{topic}/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000\r\n\r\n"
            connection.sendall(asked.encode() + b" " * 99_000)
            assert connection.recv(12) == b"HTTP/1.1 200"
        assert http.post(f"/topics/{topic}/messages", json={"value": "x" * 90_000}).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/consumer-groups/a%2Fb/", "/api/v1/topics/", "/health/"])
def test_a_slash_at_the_end_is_another_path(http: httpx.Client, path: str) -> None:
    assert refusal(http.get(path)) == (404, "Not Found")


def test_a_slow_sender_is_cut_off(tight: GatewayProcess, topic: str) -> None:
    reply = raw(tight, head(topic, 1000) + b"{")
    assert reply.startswith(b"HTTP/1.1 408")
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["title"] == "Request timed out"


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""])
def test_an_endless_head(gateway: GatewayProcess, end: bytes) -> None:
    reply = raw(gateway, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Filler: " + b"x" * 70_000 + end)
    # Cut off while it still sends, a client may see the reset and not the reply.
    assert reply.startswith(b"HTTP/1.1 431") or not reply


@pytest.mark.parametrize("begun", [b"", b"GET /health HTTP/1.1\r\nHost: local"])
def test_a_slow_head_is_cut_off(tight: GatewayProcess, begun: bytes) -> None:
    assert raw(tight, begun) == b""


def test_a_slow_head_after_a_request_is_cut_off(tight: GatewayProcess) -> None:
    reply = raw(tight, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea")
    assert reply.count(b"HTTP/1.1") == 1
    assert reply.startswith(b"HTTP/1.1 200")


def test_who_pauses_between_requests_is_not(tight: GatewayProcess) -> None:
    """While a head that began later is cut off, a connection without one stays."""
    with connect(tight) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert raw(tight, b"GET /") == b""
        connection.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert received(connection).count(b"HTTP/1.1 200") == 2


def test_bytes_that_are_no_http(gateway: GatewayProcess) -> None:
    reply = raw(gateway, b"\x00\x01\x02 hello\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in reply


def connect(gateway: GatewayProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gateway.port), timeout=SECONDS)


def raw(gateway: GatewayProcess, request: bytes) -> bytes:
    """What comes back until the gateway closes."""
    with connect(gateway) as connection:
        connection.sendall(request)
        return received(connection)


def received(connection: socket.socket) -> bytes:
    reply = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            reply += chunk
    return reply


# -- other sites -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1:1"]
)
def test_pages_of_other_sites_change_nothing(http: httpx.Client, topic: str, origin: str) -> None:
    reply = http.post(f"/topics/{topic}/messages", json={"value": 1}, headers={"Origin": origin})
    assert refusal(reply) == (403, "Foreign origin")
    assert http.get(f"/topics/{topic}/messages").json()["messages"] == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    ("mode", "dest"), [("no-cors", "image"), ("no-cors", "empty"), ("navigate", "iframe"), ("navigate", "document")]
)
def test_pages_of_other_sites_do_not_read_as_a_group(
    http: httpx.Client, topic: str, site: str, mode: str, dest: str
) -> None:
    """An image, a frame or a link: browsers send no Origin with these, and the reply alone would commit."""
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    refused = http.get(f"/api/v1/consumer-groups/g-{topic}/events", params={"topic": topic}, headers=headers)
    assert refusal(refused) == (403, "Foreign site")
    assert refusal(http.get(f"/topics/{topic}/messages", headers=headers)) == (403, "Foreign site")


def test_pages_of_other_sites_do_not_listen(gateway: GatewayProcess, http: httpx.Client, topic: str) -> None:
    """Neither by an EventSource, which names its origin, nor by a WebSocket."""
    headers = {"Origin": "https://evil.example"}
    path = f"/api/v1/consumer-groups/g-{topic}/events?topic={topic}"
    assert refusal(http.get(path, headers=headers)) == (403, "Foreign origin")
    url = gateway.url.replace("http", "ws")
    for each in (path, f"/api/v1/topics/{topic}/events"):
        with pytest.raises(InvalidStatus, match="403"), open_socket(url + each, origin="https://evil.example"):
            pass
        with open_socket(url + each, origin=gateway.url):
            pass


def open_socket(url: str, origin: str) -> ClientConnection:
    return connect_socket(url, origin=Origin(origin), proxy=None, open_timeout=SECONDS)


def test_links_of_other_sites_lead_to_our_pages(http: httpx.Client, topic: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for path in ("/", "/ui/topics"):
        assert http.get(path, headers=headers).status_code == 200
    assert refusal(http.post("/", headers=headers)) == (403, "Foreign site")


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_pages_and_the_address_bar_read(http: httpx.Client, topic: str, site: str) -> None:
    assert http.get(f"/topics/{topic}/messages", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_our_own_pages_may(gateway: GatewayProcess, http: httpx.Client, topic: str) -> None:
    reply = http.post(f"/topics/{topic}/messages", json={"value": 1}, headers={"Origin": gateway.url})
    assert reply.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "", "127.0.0.1.evil.example"])
def test_a_name_that_is_not_ours_is_not_answered(http: httpx.Client, topic: str, host: str) -> None:
    reply = http.get(f"/topics/{topic}/messages", headers={"Host": host})
    assert refusal(reply) == (421, "Unknown host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1", "[::1]:8080", "192.0.2.7"])
def test_names_and_addresses_of_ours_are(http: httpx.Client, topic: str, host: str) -> None:
    assert http.get(f"/topics/{topic}/messages", headers={"Host": host}).status_code == 200


def test_what_is_allowed_by_settings(new_gateway: Callable[..., GatewayProcess], topic: str) -> None:
    words = ("--set", "allowed_hosts=queue.example", "--set", "allowed_origins=https://app.example")
    with new_gateway(*words).client(headers={"Host": "queue.example"}) as http:
        reply = http.post(f"/topics/{topic}/messages", json={"value": 1}, headers={"Origin": "https://app.example"})
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
        reply = http.post(f"/topics/{topic}/messages", json={"value": 1}, headers={"Origin": "https://other.example"})
        assert refusal(reply) == (403, "Foreign origin")
        allowed = {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
        reply = http.get(f"/topics/{topic}/messages", headers=allowed)
        assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, "https://app.example")
        asking = {**allowed, "Access-Control-Request-Method": "POST"}
        assert http.options(f"/topics/{topic}/messages", headers=asking).status_code == 200


def test_replies_are_not_to_be_guessed_at(http: httpx.Client, topic: str) -> None:
    http.post(f"/topics/{topic}/messages", json={"value": "<script>alert(1)</script>"})
    reply = http.get(f"/topics/{topic}/messages")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-type"] == "application/json"
