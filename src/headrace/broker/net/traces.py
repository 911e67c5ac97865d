"""A span for each request of a client, from its decoding to its reply, with what it waited for: off unless
`otel.endpoint` is set, and without any cost then, since handlers are wrapped when a broker starts, or not at all.

    handler called ── its own work ──▶ it returns ── replication, records to come, other members ──▶ the reply is ready

Batches are not opened, so a `traceparent` in the headers of records is not seen: a span of a broker has no parent.
Followers' fetches have no span: they would be most, and what a producer waits for shows in its own. Nor has a request whose
connection ends before its reply.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from threading import Thread
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from headrace.base.ids import ZERO_ID
from headrace.base.tracing import open_provider
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Handler, Request
from headrace.broker.net.outbox import Chunk
from headrace.broker.net.requests_in_order import Pending
from headrace.cluster.image import Image
from headrace.wire.apis import APIS
from headrace.wire.codes import ErrorCode
from headrace.wire.schema import Struct

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

NAMES_MAX = 10
STOP_SECONDS_MAX = 5.0
CODES_LOOKED_AT_MAX = 1000
_NAMES = {int(code): code.name for code in ErrorCode}


class Traces:
    """`chance` says which requests are sampled: a number from 0 to below 1."""

    def __init__(
        self,
        view: View,
        provider: "TracerProvider",
        ratio: float,
        chance: Callable[[], float] = random.Random().random,
    ) -> None:
        from opentelemetry.trace import SpanKind, StatusCode

        self._view = view
        self.provider = provider
        self._ratio = ratio
        self._chance = chance
        self._tracer = provider.get_tracer("headrace.broker")
        self._kind = SpanKind.SERVER
        self._failed = StatusCode.ERROR

    def traced(self, handler: Handler) -> Handler:
        """The same handler, with a span for each request that is sampled."""
        handle, name = handler.handle, APIS[handler.request.API_KEY].name

        def handle_traced(broker: Any, request: Request) -> Any:
            if self._chance() >= self._ratio or is_of_follower(request.body):
                return handle(broker, request)
            traced = TracedRequest(request, self._begin(name, request), self)
            result = handle(broker, traced)
            traced.on_handled()
            if type(result) is CoroutineType:
                return traced.watched(result)
            if type(result) is not Pending:
                traced.end(result)
            return result

        return handler._replace(handle=handle_traced)

    async def stop(self) -> None:
        """Exports the spans that are left, if that does not take long: a collector may be away."""
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            self.provider.shutdown()
            # The loop may have ended first.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(sent.set)

        Thread(target=send, name="traces", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS_MAX):
                await sent.wait()

    def _begin(self, name: str, request: Request) -> "Span":
        topics = list(dict.fromkeys(topics_of(self._view.image, request.body)))
        attributes: dict[str, str | int | list[str]] = {
            "messaging.system": "kafka",
            "messaging.client.id": request.client_id or "",
            "network.peer.address": request.connection.peer,
            "headrace.broker": self._view.id,
            "headrace.api.version": request.version,
            "headrace.topics": topics[:NAMES_MAX],
        }
        if len(topics) == 1:
            attributes["messaging.destination.name"] = topics[0]
        if (acks := getattr(request.body, "acks", None)) is not None:
            attributes["headrace.acks"] = acks
        return self._tracer.start_span(name, kind=self._kind, attributes=attributes, start_time=_ns(request, 0.0))

    def fail(self, span: "Span", codes: list[str]) -> None:
        span.set_attribute("headrace.error_codes", codes)
        span.set_status(self._failed, ", ".join(codes))


class TracedRequest(Request):
    __slots__ = ("_handled_s", "_span", "_traces")

    def __init__(self, plain: Request, span: "Span", traces: Traces) -> None:
        super().__init__(
            plain.connection,
            plain.version,
            plain.correlation_id,
            plain.client_id,
            plain.body,
            plain.now,
            plain._clock,
            plain._latency,
        )
        self._amendment = plain._amendment
        self._span = span
        self._traces = traces
        self._handled_s = 0.0

    def on_handled(self) -> None:
        self._handled_s = self._seconds()

    async def watched(self, work: Coroutine[Any, Any, Any]) -> Any:
        response = await work
        self.end(response)
        return response

    def frame(self, response: Any) -> list[Chunk]:
        """The frame of a reply that was owed; ends its span."""
        chunks = super().frame(response)
        self.end(response)
        return chunks

    def end(self, response: Any) -> None:
        seconds, span = self._seconds(), self._span
        # A reply that is made inside the handler is none that was waited for.
        waited = seconds - self._handled_s if self._handled_s else 0.0
        span.set_attribute("headrace.waited_ms", round(waited * 1000, 3))
        if codes := sorted(set(codes_of(response))):
            self._traces.fail(span, codes)
        span.end(_ns(self, seconds))

    def _seconds(self) -> float:
        return self._clock.mono() - self.now.mono


def open_traces(view: View) -> Traces | None:
    """None unless `otel.endpoint` is set."""
    endpoint = view.config.value("otel.endpoint")
    if not endpoint:
        return None
    provider = open_provider("otel.endpoint", str(endpoint), "headrace-broker", f"broker-{view.id}")
    ratio = view.config.value("otel.sample.ratio")
    assert isinstance(ratio, float)
    return Traces(view, provider, ratio)


def is_of_follower(body: Any) -> bool:
    state = getattr(body, "replica_state", None)
    return (state.replica_id if state is not None else getattr(body, "replica_id", -1)) >= 0


def topics_of(image: Image, body: Any) -> Iterator[str]:
    for topic in getattr(body, "topic_data", None) or getattr(body, "topics", None) or ():
        name = topic if isinstance(topic, str) else getattr(topic, "name", "") or getattr(topic, "topic", "")
        if not name and (known := image.topic_by_id(getattr(topic, "topic_id", ZERO_ID))) is not None:
            name = known.name
        if name:
            yield name


def codes_of(response: Any) -> Iterator[str]:
    """Kafka's names of the errors in a reply, wherever they stand in it."""
    waiting, seen = [response], 0
    while waiting and seen < CODES_LOOKED_AT_MAX:
        seen += 1
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one[:CODES_LOOKED_AT_MAX]
        elif isinstance(one, Struct):
            code = getattr(one, "error_code", 0)
            if code:
                yield _NAMES.get(code, str(code))
            values = (getattr(one, field.name) for field in type(one).FIELDS)
            waiting += [value for value in values if isinstance(value, list | Struct)]


def _ns(request: Request, seconds: float) -> int:
    """Nanoseconds since 1970: the wall clock when the request came, and the steady one from there."""
    return request.now.wall * 1_000_000 + int(seconds * 1e9)
