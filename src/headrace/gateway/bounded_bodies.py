"""No handler of the framework sees a body that is larger or slower than allowed: it is read here, whole, before any of them.

A layer before the whole application and not a property of routes, so that no route can be without it: those of libraries
(the UI's) read what they are sent without a limit. Messages, which may come as an endless stream, pass by before
(`messages/fast_lane.py`) and read by themselves.
"""

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.gateway.intake import Intake
from headrace.gateway.problem import Problem

# Without one of these a request has no body, whatever its method.
_SAYS_BODY = (b"content-length", b"transfer-encoding")


BODILESS = frozenset({"GET", "HEAD"})


class BoundedBodies:
    """An ASGI layer."""

    def __init__(self, app: ASGIApp, intake: Intake) -> None:
        self._app = app
        self._intake = intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not any(name in _SAYS_BODY for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        try:
            async with self._intake.body(Request(scope, receive)) as body:
                if scope["method"] not in BODILESS:
                    await self._app(scope, _replayed(body, receive), send)
                    return
            # Nobody looks at it, and the reply may be a stream without end.
            await self._app(scope, _replayed(b"", receive), send)
        except ClientDisconnect:
            return
        except Problem as refusal:
            # Of the body: what handlers raise the framework has answered.
            await refusal.response()(scope, receive, send)


def _replayed(body: bytes, receive: Receive) -> Receive:
    rest: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return rest.pop() if rest else await receive()

    return receive_again
