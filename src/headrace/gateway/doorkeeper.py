"""Refusal of requests that a browser was tricked into sending, before any handler sees them.

Two tricks are known. A page of another site sends a request here, be it a GET for an image, which would read as a member of
a group as well as any: browsers then say Sec-Fetch-Site, and often name that site in Origin. From other sites only links
to our pages are followed, and allowed origins are served. A name of another site is pointed at our address (DNS rebinding),
so that its page counts as ours: such requests address us by that name, and we answer to our own only. A bare IP address
cannot be rebound. Programs such as curl send neither, and are not in question.

Browsers send Sec-Fetch-Site over https and to localhost, not over plain http to another machine: there only Origin is left.
"""

import ipaddress
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.gateway.problem import Problem
from headrace.gateway.settings import GatewaySettings

ANY = "*"
OTHER_SITES = frozenset({b"cross-site", b"same-site"})
NOBODY = 1008
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"referrer-policy", b"same-origin"),
)


class Doorkeeper:
    """An ASGI layer."""

    def __init__(self, app: ASGIApp, settings: GatewaySettings) -> None:
        self._app = app
        self._hosts = frozenset(each.lower() for each in ("localhost", settings.host, *settings.allowed_hosts))
        self._origins = frozenset(each.lower().rstrip("/") for each in settings.allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        problem = self._refusal(scope)
        if problem is None:
            await self._app(scope, receive, _guarded(send) if scope["type"] == "http" else send)
        elif scope["type"] == "http":
            await problem.response()(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": NOBODY, "reason": problem.title})

    def _refusal(self, scope: Scope) -> Problem | None:
        host = origin = ""
        is_foreign = False
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1").lower()
            elif name == b"origin":
                origin = value.decode("latin-1").lower()
            elif name == b"sec-fetch-site":
                is_foreign = value in OTHER_SITES
        if not self._is_ours(host):
            return _unknown_host(host)
        if origin:
            scheme = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
            is_own = origin == f"{scheme}://{host}"
            return None if is_own or self._is_allowed(origin) else _foreign_origin(origin)
        return _foreign_site() if is_foreign and not _is_link_to_page(scope) else None

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        return name in self._hosts or ANY in self._hosts or _is_address(name)

    def _is_allowed(self, origin: str) -> bool:
        return origin in self._origins or ANY in self._origins


def _is_link_to_page(scope: Scope) -> bool:
    """Followed by a person, to what is only looked at."""
    if (b"sec-fetch-dest", b"document") not in scope["headers"] or scope.get("method") != "GET":
        return False
    path = scope["path"]
    return bool(path in ("/", "/ui", "/docs", "/login", "/login/oidc", "/login/oidc/done") or path.startswith("/ui/"))


def host_name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _guarded(send: Send) -> Send:
    """Adds what keeps a browser from reading more into a reply than it says."""

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*_absent(message.get("headers", ())), *message.get("headers", ())]
        await send(message)

    return send_guarded


def _absent(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    there = {name for name, _ in headers}
    return [each for each in _HEADERS if each[0] not in there]


def _unknown_host(host: str) -> Problem:
    return Problem(
        421,
        "Unknown host",
        f"this gateway is not known as {host[:100] or 'nothing'}",
        "address it by its IP address or as localhost, or start it with --set allowed_hosts=NAME",
    )


def _foreign_origin(origin: str) -> Problem:
    return Problem(
        403,
        "Foreign origin",
        f"pages of {origin[:100]} may not do this here",
        "open the gateway's own pages, or start it with --set allowed_origins=" + origin[:100],
    )


def _foreign_site() -> Problem:
    return Problem(
        403,
        "Foreign site",
        "a page of another site asked a browser for this",
        "open the address itself, or allow pages that name their origin with --set allowed_origins=ORIGIN",
    )
