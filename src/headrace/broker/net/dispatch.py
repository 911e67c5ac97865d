"""The way from a frame to the handler that answers it, and back: header, version, decode, call, encode.

The table of handlers is the one place that says what this broker can do: ApiVersions advertises exactly what is in it.
A handler is called with the broker and a request, though most take less of it (`handlers/takes.py`), and returns
    a response      – sent at once,
    a `Pending`     – completed later; later requests of the connection go on meanwhile,
    a coroutine     – for what must wait before it changes anything; later requests of the connection wait too,
    None            – no reply is owed (Produce with acks=0).
"""

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.base.clock import Clock, Now
from headrace.base.errors import PeerError
from headrace.base.probe import Histogram
from headrace.broker.net.connection import Connection
from headrace.broker.net.outbox import Chunk
from headrace.broker.net.requests_in_order import Pending
from headrace.broker.security.rights import Rights
from headrace.cluster.image import Image
from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.codes import ErrorCode
from headrace.wire.frame import API_VERSIONS_KEY, parse_request_header, response_frame
from headrace.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from headrace.wire.schema import Request as RequestMessage

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


Handle = Callable[["Broker", "Request"], Any]
Proceed = Callable[[], Any]
Screen = Callable[[Image, "Request", Proceed], Any]
"""Answers what a principal may not do, and lets the handler answer the rest; called only where rights are limited."""


class Handler(NamedTuple):
    request: type[RequestMessage]
    handle: Handle
    # None where the handler itself asks for rights, or where everybody may ask: a test has the list.
    screen: Screen | None = None
    # Lower than what we decode only where clients read more into a range than its versions: see handlers/__init__.
    advertised_min: int | None = None


class Request:
    """One decoded request and whom to answer."""

    __slots__ = (
        "_amendment",
        "_clock",
        "_latency",
        "body",
        "client_id",
        "connection",
        "correlation_id",
        "now",
        "version",
    )

    def __init__(
        self,
        connection: Connection,
        version: int,
        correlation_id: int,
        client_id: str | None,
        body: Any,
        now: Now,
        clock: Clock,
        latency: Histogram,
    ) -> None:
        self.connection = connection
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.body = body
        self.now = now
        self._clock = clock
        self._latency = latency
        self._amendment: Callable[[Any], None] | None = None

    @property
    def listener(self) -> str:
        """The name of the listener that it came in on: replies name addresses of this one."""
        return self.connection.listener_name

    @property
    def principal(self) -> str:
        return self.connection.principal

    @property
    def rights(self) -> Rights:
        return self.connection.rights

    def amend(self, amendment: Callable[[Any], None]) -> None:
        """Change the reply before it leaves, whenever that is: for screens, which say it before the handler is called."""
        assert self._amendment is None, "a reply is amended once"
        self._amendment = amendment

    def defer(self) -> Pending:
        """Owe the reply: the handler returns this and completes it later."""
        return Pending(self.connection.requests, self.frame)

    def frame(self, response: Any) -> list[Chunk]:
        """The reply, ready to leave; what it took until here is what the latency of the API means."""
        self._latency.observe(self._clock.mono() - self.now.mono)
        if self._amendment is not None:
            self._amendment(response)
        return response_frame(response, self.version, self.correlation_id)


class Route:
    """One API in one version, and how often it was asked for. Its latency is that of all versions."""

    __slots__ = ("count", "handle", "latency", "message", "screen")

    def __init__(self, handler: Handler, latency: Histogram) -> None:
        self.handle = handler.handle
        self.screen = handler.screen
        self.message = handler.request
        self.latency = latency
        self.count = 0

    def __str__(self) -> str:
        return self.message.__name__.removesuffix("Request")


class Dispatch:
    def __init__(self, broker: "Broker", handlers: Iterable[Handler]) -> None:
        self._broker = broker
        self._routes: dict[tuple[int, int], Route] = {}
        self._latencies: dict[str, Histogram] = {}
        self.api_versions: list[ApiVersion] = []
        for handler in handlers:
            self._add(handler)

    def _add(self, handler: Handler) -> None:
        api = APIS[handler.request.API_KEY]
        lowest = api.min_version if handler.advertised_min is None else handler.advertised_min
        self.api_versions.append(ApiVersion(api.key, lowest, api.max_version))
        latency = self._latencies[api.name] = Histogram()
        for version in range(api.min_version, api.max_version + 1):
            self._routes[api.key, version] = Route(handler, latency)

    def dispatch(self, connection: Connection, frame: memoryview) -> None:
        key, version, correlation_id, client_id, position = parse_request_header(frame)
        route = self._routes.get((key, version))
        if route is None:
            self._refuse(connection, key, version, correlation_id)
            return
        route.count += 1
        self._broker.probes.last_request = route
        body = decode(route.message, version, frame, position)
        # Asked for every request, not left to a timer: one that woke from a long stop must not answer from memory.
        broker = self._broker
        now = broker.check_lease()
        request = Request(connection, version, correlation_id, client_id, body, now, broker.clock, route.latency)
        if connection.rights.is_unlimited or route.screen is None:
            result = route.handle(broker, request)
        else:
            result = route.screen(broker.image, request, partial(route.handle, broker, request))
        if type(result) is Pending:
            connection.requests.owe(result)
        elif type(result) is CoroutineType:
            pending = request.defer()
            connection.requests.owe(pending)
            connection.requests.run(_complete(pending, result))
        elif result is not None:
            connection.requests.reply(request.frame(result))

    def _refuse(self, connection: Connection, key: int, version: int, correlation_id: int) -> None:
        if key != API_VERSIONS_KEY:
            raise PeerError(f"api {key} version {version} is not offered here")
        # A newer client asks in a version we do not know: say which we do, in the layout that everybody can read.
        own = [entry for entry in self.api_versions if entry.api_key == API_VERSIONS_KEY]
        response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=own)
        connection.requests.reply(response_frame(response, 0, correlation_id))

    def counts(self) -> list[tuple[str, int, int]]:
        """(api, version, requests so far) of every version that was asked for."""
        return [(APIS[key].name, version, route.count) for (key, version), route in self._routes.items() if route.count]

    def latencies(self) -> list[tuple[str, Histogram]]:
        """The latencies of every API that was answered at least once."""
        return [(name, latency) for name, latency in self._latencies.items() if any(latency.counts)]


async def _complete(pending: Pending, work: Coroutine[Any, Any, Any]) -> None:
    pending.complete(await work)
