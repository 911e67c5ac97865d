"""The two addresses of a log-in by an OpenID provider: the way there, and the way back."""

import hmac
import html
import logging
import time
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from headrace.gateway.callers import credential as credentials
from headrace.gateway.callers.callers import Callers
from headrace.gateway.callers.reception import LOGIN, OIDC, OIDC_DONE, own_page
from headrace.gateway.callers.visits import Visits, cookie_in
from headrace.gateway.oidc.journey import JOURNEY_SECONDS_MAX, Journey, Journeys
from headrace.gateway.oidc.provider import Provider
from headrace.gateway.problem import Problem
from headrace.identity.claims import LoginRefused

logger = logging.getLogger("headrace.gateway")

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
# A redirect would still count as the provider's, and a browser would keep the new cookie back (SameSite=Strict).
_ON = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Logged in · Headrace</title>
<meta http-equiv="refresh" content="0;url={next}"></head><body><p><a href="{next}">Go on</a></p></body></html>
"""


class OidcPages:
    def __init__(self, provider: Provider, callers: Callers, visits: Visits) -> None:
        self._provider = provider
        self._callers = callers
        self._visits = visits
        self._journeys = Journeys()
        self._cookie = f"{visits.cookie}-oidc"
        self.router = APIRouter(include_in_schema=False)
        # Plain routes: a provider may send parameters along that nobody here knows.
        self.router.add_route(OIDC, self.leave, methods=["GET"], include_in_schema=False)
        self.router.add_route(OIDC_DONE, self.come_back, methods=["GET"], include_in_schema=False)

    async def leave(self, request: Request) -> Response:
        journey = self._journeys.begin(own_page(_told(request, "next")), time.time())
        reply = RedirectResponse(self._provider.authorization_url(journey), 303, _HEADERS)
        reply.headers.append("set-cookie", self._cookie_text(self._journeys.sealed(journey)))
        return reply

    async def come_back(self, request: Request) -> Response:
        journey = self._journeys.opened(cookie_in(request.scope, self._cookie), time.time())
        try:
            reply = await self._logged_in(request, journey)
        except LoginRefused as refusal:
            logger.warning("a log-in by the OpenID provider was refused: %(cause)s", {"cause": refusal})
            reply = _refused("The log-in was refused. Please try again.", 401)
        except Problem as problem:
            reply = _refused(f"{problem.detail[:1].upper()}{problem.detail[1:]}.", problem.status)
        reply.headers.append("set-cookie", self._cookie_text(""))
        return reply

    async def _logged_in(self, request: Request, journey: Journey | None) -> Response:
        state, code, issuer = (_told(request, name) for name in ("state", "code", "iss"))
        if journey is None or not hmac.compare_digest(state.encode(), journey.state.encode()):
            raise LoginRefused("it was not begun by this browser, or too long ago (state)")
        if issuer not in ("", self._provider.issuer):
            raise LoginRefused("another provider answered (iss)")
        if not code:
            raise LoginRefused("the provider gave no code")
        token, found = await self._provider.log_in(code, journey)
        credential = credentials.token(token)
        if credential is None:
            raise LoginRefused("the access token is none that brokers could take")
        await self._callers.welcome(credential, request.client.host if request.client else "")
        if (before := self._visits.of(request.scope)) is not None:
            self._visits.end(before)
        reply = HTMLResponse(_ON.format(next=html.escape(journey.next, quote=True)), 200, _HEADERS)
        cookie = self._visits.begin(credential, found.name, found.lifetime_seconds)
        reply.headers.append("set-cookie", cookie)
        return reply

    def _cookie_text(self, value: str) -> str:
        """Sent along when the provider sends the browser back, which is another site."""
        text = self._visits.cookie_text(self._cookie, value).replace("SameSite=Strict", "SameSite=Lax")
        return f"{text}; Max-Age={JOURNEY_SECONDS_MAX}" if value else text


def _told(request: Request, name: str) -> str:
    """The parameter, if it is there once."""
    values = request.query_params.getlist(name)
    return values[0] if len(values) == 1 else ""


def _refused(sentence: str, status: int) -> Response:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Log in · Headrace</title></head><body>'
        f'<p role="alert">{html.escape(sentence)}</p><p><a href="{LOGIN}">Log in</a></p></body></html>'
    )
    return HTMLResponse(page, status, _HEADERS)


def link_to(wanted: str) -> str:
    """The address that begins a log-in."""
    return OIDC if wanted == "/" else f"{OIDC}?next={quote(wanted, safe='/')}"
