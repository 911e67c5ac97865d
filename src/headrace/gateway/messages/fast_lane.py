"""POST and GET of messages past the framework: an expression finds the busiest paths instead of a walk over all routes.

`routes` has the same paths for the description, for queries that are not the plainest, and for whoever calls the application
without this layer; both end in `post_messages` and `read_messages`. About half of what a POST costs the gateway is saved
here, and a third of a GET of a hundred messages.
"""

import re
from collections.abc import Awaitable, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.base import topic_names
from headrace.gateway.gateway import Gateway, gateway_of
from headrace.gateway.messages.post import post_messages
from headrace.gateway.messages.read import MessagesQuery, read_messages
from headrace.gateway.messages.start import parse_start
from headrace.gateway.messages.stream_in import NDJSON
from headrace.gateway.problem import EXPECTED, Problem, on_fault, problem_of

_TOPIC = f"/topics/({topic_names.WHOLE_PATTERN})"
_SHORT = re.compile(f"{_TOPIC}/messages")
_LONG_POST = re.compile(f"/api/v1{_TOPIC}/messages")
_LONG_GET = re.compile(f"/api/v1{_TOPIC}/partitions/([0-9]{{1,9}})/messages")
_SHORT_PATH = "/topics/{topic}/messages"
_LONG_POST_PATH = "/api/v1/topics/{topic}/messages"
_LONG_GET_PATH = "/api/v1/topics/{topic}/partitions/{partition}/messages"
# Numbers that no rule of the framework could refuse.
_NUMBER = rb"(?:offset=[0-9]{1,18}|limit=[1-9][0-9]{0,8}|max_bytes=[1-9][0-9]{0,8}|partition=[0-9]{1,9})"
_PLAIN = re.compile(rb"(?:%b(?:&%b)*)?" % (_NUMBER, _NUMBER))
_PLAIN_POST = re.compile(rb"(?:acks=[a-z]*)?")
_LINES = NDJSON.encode()


class FastLane:
    """An ASGI layer. `routes` are those of the description, by method and path: they are counted."""

    def __init__(self, app: ASGIApp, gateway: Gateway, routes: Mapping[tuple[str, str], BaseRoute]) -> None:
        self._app = app
        self._gateway = gateway
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = self._work(Request(scope, receive, send)) if scope["type"] == "http" else None
        if work is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await _reply(work, scope)
        except ClientDisconnect:
            return
        try:
            await response(scope, receive, send)
        except Problem as problem:
            await problem.response()(scope, receive, send)

    def _work(self, request: Request) -> Awaitable[Response] | None:
        """None where the framework has to look."""
        match request.scope["method"]:
            case "POST":
                return self._post(request)
            case "GET":
                return self._get(request)
        return None

    def _post(self, request: Request) -> Awaitable[Response] | None:
        scope = request.scope
        found, path = _SHORT.fullmatch(scope["path"]), _SHORT_PATH
        if found is None:
            found, path = _LONG_POST.fullmatch(scope["path"]), _LONG_POST_PATH
        if found is None or not _PLAIN_POST.fullmatch(scope["query_string"]):
            return None
        scope["route"] = self._routes["POST", path]
        return post_messages(gateway_of(scope, self._gateway), request, found[1])

    def _get(self, request: Request) -> Awaitable[Response] | None:
        scope = request.scope
        found, path = _SHORT.fullmatch(scope["path"]), _SHORT_PATH
        if found is None:
            found, path = _LONG_GET.fullmatch(scope["path"]), _LONG_GET_PATH
        query = _plain_query(scope) if found is not None else None
        if found is None or query is None:
            return None
        if path is _LONG_GET_PATH:
            if b"partition" in query:
                return None
            query[b"partition"] = found[2].encode()
        partition = query.get(b"partition")
        scope["route"] = self._routes["GET", path]
        asked = MessagesQuery(
            parse_start(query.get(b"offset", b"").decode(), None),
            _number(query, b"limit"),
            _number(query, b"max_bytes"),
        )
        return read_messages(
            gateway_of(scope, self._gateway), found[1], None if partition is None else int(partition), asked
        )


def _plain_query(scope: Scope) -> dict[bytes, bytes] | None:
    """None when there is more in it than numbers, or one is named twice."""
    text: bytes = scope["query_string"]
    if not _PLAIN.fullmatch(text) or any(_LINES in value for name, value in scope["headers"] if name == b"accept"):
        return None
    parts = text.split(b"&") if text else []
    query = dict(part.split(b"=") for part in parts)
    return query if len(query) == len(parts) else None


def _number(query: Mapping[bytes, bytes], name: bytes) -> int | None:
    return int(query[name]) if name in query else None


async def _reply(work: Awaitable[Response], scope: Scope) -> Response:
    try:
        return await work
    except EXPECTED as error:
        return problem_of(error).response()
    except ClientDisconnect:
        raise
    except Exception as error:
        return await on_fault(Request(scope), error)
