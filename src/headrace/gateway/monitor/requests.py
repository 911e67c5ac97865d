"""Counts of the gateway's own requests: how many, how long until the reply began, how many are open.

By the path of the route (`/topics/{topic}/messages`), not of the request: else every topic would be a series, and so would
every path that somebody makes up.
"""

import time
from collections import defaultdict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.base.probe import Histogram

UNKNOWN = "none"


class RequestCounts:
    def __init__(self) -> None:
        self.counts: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self.latencies: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.open = 0

    def on_reply(self, scope: Scope, status: int, seconds: float) -> None:
        path = getattr(scope.get("route"), "path", UNKNOWN)
        method = scope.get("method", "WEBSOCKET") if path != UNKNOWN else UNKNOWN
        self.counts[method, path, status] += 1
        self.latencies[path].observe(seconds)


class CountRequests:
    """Plain ASGI: it sees streams begin without holding them up."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counted_send(message: Message) -> None:
            match message["type"]:
                case "http.response.start":
                    self._counts.on_reply(scope, message["status"], time.perf_counter() - began)
                case "websocket.accept":
                    self._counts.on_reply(scope, 101, time.perf_counter() - began)
            await send(message)

        self._counts.open += 1
        try:
            await self._app(scope, receive, counted_send)
        finally:
            self._counts.open -= 1
