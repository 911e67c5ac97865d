"""Puts the UI on the gateway's application: `/`, `/docs` and everything below `/ui`, beside the REST paths.

NiceGUI would take every path that nobody else has; a caller of REST who mistypes one must get problem+json and not a page,
so it is given only its own.
"""

from http import HTTPStatus
from pathlib import Path

import nicegui
from fastapi import FastAPI, Request, Response
from nicegui import Client, ui
from nicegui.middlewares import RedirectWithPrefixMiddleware, SetCacheControlMiddleware
from starlette.routing import Match, Mount
from starlette.types import Message, Receive, Scope, Send

from headrace.gateway.callers.callers import HOLDER_SHARE
from headrace.gateway.callers.visits import VISIT, Visit, Visits
from headrace.gateway.gateway import CALLER, Gateway, gateway_of
from headrace.gateway.intake import too_busy
from headrace.gateway.problem import Problem
from headrace.gateway.segments import is_plain
from headrace.gateway.ui.own_pages import end_pages, hear_own_events, keep_own, pages_of
from headrace.gateway.ui.shell import shell
from headrace.gateway.ui.watch import Describe, Watch

_HERE = Path(__file__).parent
_PAGES = ("/", "/docs")
_ICON = "/favicon.ico"
_OURS = ("/ui", "/_nicegui", "/_nicegui_ws", _ICON)
_WATCH = "headrace.watch"
# A second wall behind the first: whatever a page was made to say, it asks nobody but us. NiceGUI's own scripts are in
# line, and Vue compiles templates in the browser.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
_GUARD = (b"content-security-policy", _POLICY.encode())
# The version is in these paths, so what is found there never changes.
_FIXED = f"/_nicegui/{nicegui.__version__}/"
_MADE_HERE = f"{_FIXED}dynamic_resources/"
_KEEP = (b"cache-control", b"public, max-age=31536000, immutable")

# Where a broken connection stays in doubt: longer than a fail-over, so that a page outlives one.
RECONNECT_SECONDS = 20.0


class _Pages(Mount):
    """NiceGUI's application, for its own paths only; its requests know whom they look at."""

    gateway: Gateway
    describe: Describe

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope.get("path", "")
        ours = path in _PAGES or any(path == own or path.startswith(f"{own}/") for own in _OURS)
        if ours and is_plain(path):
            return super().matches(scope)
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _headers(scope["path"], message, CALLER in scope)
            await send(message)

        if scope["type"] == "http" and not scope["path"].startswith("/_nicegui") and self._is_full(scope):
            await too_busy("as many pages of the UI are open as may be (ui_pages_max)").response()(scope, receive, send)
            return
        if scope["path"] != _ICON:
            scope[_WATCH] = self._watch(gateway_of(scope, self.gateway))
        await super().handle(scope, receive, send_with_headers)

    def _is_full(self, scope: Scope) -> bool:
        """A page costs memory until its browser is gone; one that nobody connects to, for a minute."""
        pages_max = self.gateway.settings.ui_pages_max
        if CALLER in scope and pages_of(scope[CALLER].holder) >= max(1, pages_max // HOLDER_SHARE):
            return True
        return len(Client.instances) >= pages_max

    def _watch(self, gateway: Gateway) -> Watch:
        """One for each caller who has logged in; what one of them sees is no other's."""
        if not gateway.has(Watch):
            gateway.add(Watch(gateway, self.describe))
        return gateway.part(Watch)


def _headers(path: str, message: Message, has_login: bool) -> list[tuple[bytes, bytes]]:
    # There is one form, to log out.
    guard = (_GUARD[0], _GUARD[1].replace(b"form-action 'none'", b"form-action 'self'")) if has_login else _GUARD
    headers = [*message["headers"], guard]
    is_fixed = path.startswith(_FIXED) and not path.startswith(_MADE_HERE)
    if not is_fixed or message["status"] != HTTPStatus.OK:
        return headers
    return [*(each for each in headers if each[0] != b"cache-control"), _KEEP]


def mount(app: FastAPI, gateway: Gateway) -> None:
    """After all routers, since what they serve is theirs; once in a process, since there is one NiceGUI in it."""
    ui.run_with(
        app,
        title="Headrace",
        favicon=_HERE / "mark.svg",
        dark=None,
        language="en-US",
        reconnect_timeout=RECONNECT_SECONDS,
        tailwind=False,
        binding_refresh_interval=None,
        show_welcome_message=False,
    )
    ui.add_css((_HERE / "theme.css").read_text(), shared=True)
    ui.add_head_html(f"<script>{(_HERE / 'theme.js').read_text()}</script>", shared=True)
    # NiceGUI's own take a reader who goes away for a fault of ours; what the second does, `_headers` does.
    needless: tuple[object, ...] = (RedirectWithPrefixMiddleware, SetCacheControlMiddleware)
    nicegui.app.user_middleware = [each for each in nicegui.app.user_middleware if each.cls not in needless]
    nicegui.app.add_exception_handler(HTTPStatus.NOT_FOUND, _on_missing)
    everything = app.router.routes.pop()
    assert isinstance(everything, Mount), everything
    pages = _Pages("/", app=everything.app)
    pages.gateway, pages.describe = gateway, app.openapi
    if gateway.trust is not None:
        gateway.part(Visits).on_end = end_pages
        hear_own_events()
    app.router.routes.append(pages)


async def _on_missing(request: Request, _: Exception) -> Response:
    """A reply that is no page: NiceGUI would make one for every file that it has not, and keep it for a minute."""
    there_is_not = Problem(404, "Not Found", f"there is no {request.url.path[:200]}", "see /docs for what there is")
    return there_is_not.response()


@ui.page("/")
@ui.page("/docs")
@ui.page("/ui/{path:path}")
async def page(request: Request) -> None:
    visit: Visit | None = request.scope.get(VISIT)
    keep_own(ui.context.client, request.scope)
    await shell(request.scope[_WATCH], visit)
