"""POST of messages past the framework: the busiest path is found by one expression instead of a walk over all routes.

`routes` has the same paths for the description, and for whoever calls the application without this layer; both end in
`post_messages`. About half of what a POST costs the gateway is saved here.
"""

import re

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.messages.post import post_messages
from headrace.gateway.problem import Problem, on_fault, problem_of

_PATH = re.compile(r"(/api/v1)?/topics/([a-zA-Z0-9._-]{1,249})/messages")


class FastLane:
    """An ASGI layer. `routes` are those of the description, by whether they have the long prefix: they are counted."""

    def __init__(self, app: ASGIApp, gateway: Gateway, long: BaseRoute, short: BaseRoute) -> None:
        self._app = app
        self._gateway = gateway
        self._long = long
        self._short = short

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _PATH.fullmatch(scope["path"]) if scope.get("method") == "POST" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = self._long if found[1] else self._short
        try:
            response = await self._reply(Request(scope, receive, send), found[2])
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _reply(self, request: Request, topic: str) -> Response:
        try:
            return await post_messages(self._gateway, request, topic)
        except (Problem, Refused, Disconnected) as error:
            return problem_of(error).response()
        except ClientDisconnect:
            raise
        except Exception as error:
            return await on_fault(request, error)
