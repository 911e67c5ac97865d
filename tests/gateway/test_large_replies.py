"""Pages that are large, for readers that are slow, beside others that want the same."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import httpx
import pytest
from gateway_process import SECONDS, GatewayProcess

from eventually import until

KILOBYTES = 400
LINES = {"Accept": "application/x-ndjson"}


@pytest.fixture
def loaded(http: httpx.Client, topic: str) -> str:
    """A topic with eight messages of 400 KB, each in a batch of its own."""
    for _ in range(8):
        http.post(f"/topics/{topic}/messages", json={"value": "x" * (KILOBYTES << 10)}).raise_for_status()
    return topic


@contextlib.contextmanager
def reading(gateway: GatewayProcess, path: str) -> Iterator[socket.socket]:
    """A reader that asks, and takes little at a time."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(SECONDS)
    connection.connect(("127.0.0.1", gateway.port))
    with connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield connection


def rest_of(connection: socket.socket) -> int:
    """How many bytes still come."""
    count = 0
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 20):
            count += len(part)
    return count


@pytest.mark.parametrize("query", ["limit=1", "limit=1&encoding=text"], ids=["plain query", "any query"])
def test_one_that_is_more_than_may_be_in_flight_is_too_much_for_now(
    new_gateway: Callable[..., GatewayProcess], loaded: str, query: str
) -> None:
    with new_gateway("--set", "in_flight_bytes_max=300000").client() as http:
        reply = http.get(f"/topics/{loaded}/messages?{query}")
        assert (reply.status_code, reply.json()["title"]) == (429, "Too many requests")
        assert reply.headers["retry-after"]


def test_a_reader_that_takes_nothing_is_let_go_with_all_that_it_held(
    new_gateway: Callable[..., GatewayProcess], loaded: str
) -> None:
    limits = ("--set", "in_flight_bytes_max=5000000", "--set", "body_seconds_max=0.5")
    running, path = new_gateway(*limits), f"/topics/{loaded}/messages?limit=8"
    with reading(running, path) as slow, running.client() as http:
        assert slow.recv(12) == b"HTTP/1.1 200"
        until(lambda: http.get(path).status_code != 429)
        assert rest_of(slow) < 8 * KILOBYTES << 10


def test_a_slow_reader_gets_all_of_it(new_gateway: Callable[..., GatewayProcess], loaded: str) -> None:
    running, path = new_gateway("--set", "body_seconds_max=2"), f"/topics/{loaded}/messages?limit=8"
    with reading(running, path) as slow:
        count = len(slow.recv(1 << 16))
        for _ in range(30):
            time.sleep(0.02)
            count += len(slow.recv(1 << 18))
        slow.shutdown(socket.SHUT_WR)
        assert count + rest_of(slow) > 8 * KILOBYTES << 10


def test_more_streams_of_lines_than_there_may_be(new_gateway: Callable[..., GatewayProcess], topic: str) -> None:
    with new_gateway("--set", "polls_max=1").client() as http:
        path = f"/topics/{topic}/messages"
        http.post(path, json={"value": "first"})
        with http.stream("GET", path, params={"follow": "true"}) as first:
            following = first.iter_lines()
            assert next(following)
            reply = http.get(path, headers=LINES)
            assert (reply.status_code, reply.json()["title"]) == (429, "Too many requests")
        until(lambda: http.get(path, headers=LINES).status_code == 200)
