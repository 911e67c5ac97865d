"""`headrace gateway` as a process: it serves, says what it is, and ends when asked."""

from collections.abc import Callable

import httpx
from gateway_process import GatewayProcess


def test_unknown_path_is_a_problem(http: httpx.Client) -> None:
    reply = http.get("/no/such/thing")
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "fix"} <= reply.json().keys()


def test_stops_cleanly_when_asked(new_gateway: Callable[..., GatewayProcess]) -> None:
    running = new_gateway()
    with running.client() as client:
        assert client.get("/openapi.json").json()["info"]["title"] == "Headrace"
    assert running.stop() in (0, -15)


def test_starts_without_brokers(new_gateway: Callable[..., GatewayProcess]) -> None:
    with new_gateway(bootstrap="127.0.0.1:1").client() as client:
        assert client.get("/openapi.json").status_code == 200
