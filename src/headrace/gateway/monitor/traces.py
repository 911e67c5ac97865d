"""A span for every request, to an OpenTelemetry collector: only with `otel_endpoint` set and the extra `traces` installed.

A caller's `traceparent` makes our span a child of its own. Spans leave in batches, from a thread of the SDK; when the
collector is away they are dropped, and requests go on.
"""

import asyncio
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.base.tracing import open_provider

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class GatewayTraces:
    """The traces of a gateway, as one of its parts: spans not yet exported are exported at its end."""

    def __init__(self, endpoint: str) -> None:
        self.provider = open_provider("otel_endpoint", endpoint, "headrace-gateway")

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        await asyncio.to_thread(self.provider.shutdown)


class TraceRequests:
    """Plain ASGI: the span of a stream ends with the stream."""

    def __init__(self, app: ASGIApp, provider: "TracerProvider") -> None:
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._app = app
        self._tracer = provider.get_tracer("headrace.gateway")
        self._propagator = TraceContextTextMapPropagator()
        self._kind = SpanKind.SERVER

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        context = self._propagator.extract(carrier)
        method = scope["method"]
        with self._tracer.start_as_current_span(method, context, self._kind) as span:

            async def traced_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    route = getattr(scope.get("route"), "path", "")
                    span.update_name(f"{method} {route}".strip())
                    span.set_attribute("http.request.method", method)
                    span.set_attribute("http.route", route)
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            await self._app(scope, receive, traced_send)
