"""Parameters of a query that no path takes are refused with the nearest name: a misspelt one would be passed over, and its
caller never know.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl

from fastapi import WebSocketException
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.requests import HTTPConnection
from starlette.status import WS_1008_POLICY_VIOLATION

from headrace.gateway.problem import Problem


async def check_parameters(connection: HTTPConnection) -> None:
    """Asked for every path. Not of what the framework serves by itself, such as the description."""
    query: bytes = connection.scope["query_string"]
    route = connection.scope.get("route")
    if not query or not isinstance(route, APIRoute | APIWebSocketRoute):
        return
    known = list(dict.fromkeys((*_declared(route.dependant), *_described(route))))
    names = [name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)]
    unknown = next((name for name in names if name not in known), None)
    if unknown is None:
        return
    detail, fix = f"there is no parameter {unknown!r} here", _fix(unknown, known)
    if connection.scope["type"] == "websocket":
        raise WebSocketException(WS_1008_POLICY_VIOLATION, f"{detail}: {fix}")
    raise Problem(422, "Unknown parameter", detail, fix)


def _declared(dependant: Any) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for each in dependant.dependencies:
        yield from _declared(each)


def _described(route: APIRoute | APIWebSocketRoute) -> Iterator[str]:
    """Parameters described by hand, of handlers that read their request themselves."""
    more = getattr(route, "openapi_extra", None) or {}
    yield from (each["name"] for each in more.get("parameters", ()) if each["in"] == "query")


def _fix(unknown: str, known: list[str]) -> str:
    near = get_close_matches(unknown, known, n=1)
    there_are = f"there are {', '.join(known)}" if known else "there are none"
    return f"did you mean {near[0]}?" if near else there_are
