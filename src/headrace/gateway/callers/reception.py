"""The layer that every request passes where callers log in: it finds out who asks, or turns the request away.

Only OPEN paths are served to anybody. Programs send their credential with each request; browsers log in to the UI once, and
their cookie is taken for its pages only, so that no page of another site can do anything through it.
"""

from contextlib import nullcontext
from urllib.parse import quote

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.gateway.bounded_bodies import BoundedBodies
from headrace.gateway.callers.callers import Caller, Callers
from headrace.gateway.callers.credential import parse_authorization
from headrace.gateway.callers.visits import VISIT, Visit, Visits
from headrace.gateway.gateway import CALLER
from headrace.gateway.intake import Intake
from headrace.gateway.problem import Problem
from headrace.gateway.settings import GatewaySettings

LOGIN, LOGOUT = "/login", "/logout"
# By an OpenID provider: the way there, and the way back.
OIDC, OIDC_DONE = "/login/oidc", "/login/oidc/done"
# Whether the process lives and brokers answer, which is nobody's secret, and where one logs in.
OPEN = frozenset({"/health", "/ready", LOGIN, OIDC, OIDC_DONE, "/favicon.ico"})
_PAGES = frozenset({"/", "/docs", "/openapi.json", LOGOUT})
# The longest form of a log-in, and all that strangers send at once: the room of callers is not theirs.
STRANGER_BYTES_MAX = 64 << 10
STRANGERS_BYTES_MAX = 16 << 20
_BELOW = ("/ui/", "/_nicegui/", "/_nicegui_ws/")


class Reception:
    """An ASGI layer."""

    def __init__(self, app: ASGIApp, callers: Callers, visits: Visits, settings: GatewaySettings) -> None:
        self._app = app
        bounds = {"body_bytes_max": STRANGER_BYTES_MAX, "in_flight_bytes_max": STRANGERS_BYTES_MAX}
        self._for_strangers = BoundedBodies(app, Intake(settings.model_copy(update=bounds)))
        self._callers = callers
        self._visits = visits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in OPEN:
            await self._for_strangers(scope, receive, send)
            return
        try:
            caller = await self._caller(scope)
        except Problem as problem:
            await _turn_away(problem, scope, receive, send)
            return
        visit: Visit | None = scope.get(VISIT)
        with caller.serving() as gateway, visit.used() if visit else nullcontext():
            scope[CALLER] = gateway
            await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        address = scope["client"][0] if scope.get("client") else ""
        logins = [value for name, value in scope["headers"] if name == b"authorization"]
        if logins:
            # With two of them, a proxy before us may have looked at the other one.
            credential = parse_authorization(logins[0]) if len(logins) == 1 else None
            if credential is None or not (credential.is_token or self._callers.trust.takes_passwords):
                raise self._callers.refused("the Authorization header holds no login of a kind that is taken here")
            return await self._callers.welcome(credential, address)
        visit = self._visits.of(scope) if is_page(scope["path"]) else None
        if visit is None:
            raise self._callers.refused("this needs a login")
        try:
            caller = await self._callers.welcome(visit.credential, address)
        except Problem as problem:
            if problem.status == 401:
                self._visits.end(visit)
            raise
        scope[VISIT] = visit
        return caller


def is_page(path: str) -> bool:
    """Whether a browser that has logged in may ask for it by its cookie."""
    return path in _PAGES or path == "/ui" or path.startswith(_BELOW)


def own_page(wanted: str) -> str:
    """A page of ours to go on to; nowhere else, whatever a link says."""
    path = wanted.partition("?")[0]
    is_plain = wanted.isascii() and wanted.isprintable() and "\\" not in wanted and not wanted.startswith("//")
    return wanted if is_plain and path.startswith("/") and is_page(path) and not path.startswith("/_") else "/"


async def _turn_away(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket" and "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": problem.title})
    elif problem.status == 401 and _is_browser_at_page(scope):
        wanted = scope["path"] + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else "")
        where = "" if wanted == "/" else f"?next={quote(wanted, safe='/', errors='replace')}"
        await RedirectResponse(LOGIN + where, 303)(scope, receive, send)
    else:
        await problem.response()(scope, receive, send)


def _is_browser_at_page(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith("/_nicegui"):
        return False
    headers = dict(scope["headers"])
    return is_page(scope["path"]) and b"text/html" in headers.get(b"accept", b"") and b"authorization" not in headers
