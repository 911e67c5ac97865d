"""Puts the UI on the gateway's application: `/` and everything below `/ui`, beside the REST paths.

NiceGUI would take every path that nobody else has; a caller of REST who mistypes one must get problem+json and not a page,
so it is given only its own.
"""

from pathlib import Path

from fastapi import FastAPI, Request
from nicegui import ui
from starlette.routing import Match, Mount
from starlette.types import Receive, Scope, Send

from headrace.gateway.gateway import Gateway
from headrace.gateway.ui.shell import shell
from headrace.gateway.ui.watch import Watch

_HERE = Path(__file__).parent
_OURS = ("/ui", "/_nicegui", "/_nicegui_ws", "/favicon.ico")
_WATCH = "headrace.watch"

# Where a broken connection stays in doubt: longer than a fail-over, so that a page outlives one.
RECONNECT_SECONDS = 20.0


class _Pages(Mount):
    """NiceGUI's application, for its own paths only; its requests know whom they look at."""

    watch: Watch

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope.get("path", "")
        if path == "/" or any(path == own or path.startswith(f"{own}/") for own in _OURS):
            return super().matches(scope)
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_WATCH] = self.watch
        await super().handle(scope, receive, send)


def mount(app: FastAPI, gateway: Gateway) -> None:
    """After all routers: what they serve is theirs."""
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
    everything = app.router.routes.pop()
    assert isinstance(everything, Mount), everything
    pages = _Pages("/", app=everything.app)
    pages.watch = Watch(gateway)
    app.router.routes.append(pages)


@ui.page("/")
@ui.page("/ui/{path:path}")
async def page(request: Request) -> None:
    await shell(request.scope[_WATCH])
