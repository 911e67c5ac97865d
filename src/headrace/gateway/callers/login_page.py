"""The log-in page of the UI, and log-out. Plain HTML without a script.

The form carries a token that the browser also has in a cookie: a form of another site has only one of the two.
"""

import hmac
import html
import secrets
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from headrace.gateway.callers import credential as credentials
from headrace.gateway.callers.callers import Callers
from headrace.gateway.callers.reception import LOGIN, LOGOUT, own_page
from headrace.gateway.callers.visits import VISIT, Visits, cookie_in
from headrace.gateway.oidc.pages import link_to
from headrace.gateway.oidc.provider import Provider
from headrace.gateway.problem import Problem

FORM_BYTES_MAX = 64 << 10
FORM_FIELDS_MAX = 10
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: #f4f6f8; color: #17212b; }
main { width: min(22rem, 90vw); background: #fff; border: 1px solid #d5dce3; border-radius: 10px; padding: 2rem; }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; } p { margin: 0 0 1.25rem; color: #51606e; }
label { display: block; font-weight: 600; margin: 1rem 0 .25rem; }
input { box-sizing: border-box; width: 100%; font: inherit; padding: .55rem .7rem; border: 1px solid #8493a1;
  border-radius: 6px; background: #fff; color: inherit; }
button { margin-top: 1.5rem; width: 100%; font: inherit; font-weight: 600; padding: .6rem; border: 0; border-radius: 6px;
  background: #0b6b8a; color: #fff; cursor: pointer; }
[role=alert] { background: #fdecea; color: #8a1c12; border-radius: 6px; padding: .5rem .75rem; margin: 0 0 1rem; }
.hint { margin: 1rem 0 0; font-size: .875rem; }
@media (prefers-color-scheme: dark) { body { background: #10161c; color: #e6edf3; } main { background: #18212a;
  border-color: #2c3945; } p { color: #a3b1be; } input { background: #10161c; border-color: #51606e; } }
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Log in · Headrace</title>
<style nonce="{nonce}">{style}</style></head>
<body><main><h1>Headrace</h1><p>Log in as a user of the cluster.</p>{complaint}
<form method="post" action="{action}"><input type="hidden" name="form" value="{form}">
<input type="hidden" name="next" value="{next}">{fields}<button type="submit">Log in</button></form>{elsewhere}
</main></body></html>
"""
_PASSWORD = """<label for="name">Name</label><input id="name" name="name" autocomplete="username" autofocus>
<label for="secret">Password</label>
<input id="secret" name="secret" type="password" autocomplete="current-password">
<p class="hint">With a token leave the name empty, and give the token as the password.</p>"""
_TOKEN = """<label for="secret">Token</label>
<input id="secret" name="secret" type="password" autocomplete="off" autofocus>"""


class LoginPage:
    def __init__(self, callers: Callers, visits: Visits, provider: Provider | None = None) -> None:
        self._callers = callers
        self._provider = provider
        self._visits = visits
        self.router = APIRouter(include_in_schema=False)
        self.router.add_api_route(LOGIN, self.show, methods=["GET"])
        self.router.add_api_route(LOGIN, self.log_in, methods=["POST"])
        self.router.add_api_route(LOGOUT, self.log_out, methods=["POST"])

    async def show(self, request: Request, next: str = "/") -> Response:
        return self._page(own_page(next))

    async def log_in(self, request: Request) -> Response:
        form = await _form(request)
        wanted = own_page(form.get("next", ""))
        known = cookie_in(request.scope, self._visits.form_cookie)
        if not known or not hmac.compare_digest(known.encode(), form.get("form", "").encode("utf-8", "replace")):
            return self._page(wanted, "This form was too old. Please try again.", 403)
        name, secret = form.get("name", ""), form.get("secret", "")
        credential = credentials.password(name, secret) if name else credentials.token(secret.strip())
        if credential is None or not (credential.is_token or self._callers.trust.takes_passwords):
            return self._page(wanted, "Give a name and its password, or a token.", 401)
        try:
            await self._callers.welcome(credential, request.client.host if request.client else "")
        except Problem as problem:
            return self._page(wanted, f"{problem.detail[:1].upper()}{problem.detail[1:]}.", problem.status)
        if (before := self._visits.of(request.scope)) is not None:
            # Its cookie is about to be lost, and nobody could log it out.
            self._visits.end(before)
        reply = RedirectResponse(wanted, 303)
        reply.headers.append("set-cookie", self._visits.begin(credential))
        reply.headers.append("set-cookie", self._visits.cookie_text(self._visits.form_cookie, ""))
        return reply

    async def log_out(self, request: Request) -> Response:
        visit = request.scope.get(VISIT)
        if visit is None or not visit.is_own((await _form(request)).get("token", "")):
            raise Problem(403, "Foreign form", "this form is not of your log-in", "use the Log out button of the UI")
        self._visits.end(visit)
        reply = RedirectResponse(LOGIN, 303)
        reply.headers.append("set-cookie", self._visits.cookie_text(self._visits.cookie, ""))
        reply.headers["Clear-Site-Data"] = '"cache", "storage"'
        return reply

    def _page(self, wanted: str, complaint: str = "", status: int = 200) -> Response:
        form, nonce = secrets.token_urlsafe(24), secrets.token_urlsafe(12)
        said = f'<p role="alert">{html.escape(complaint)}</p>' if complaint else ""
        text = _PAGE.format(
            nonce=nonce,
            style=_STYLE,
            complaint=said,
            action=LOGIN,
            form=form,
            next=html.escape(wanted, quote=True),
            elsewhere=self._elsewhere(wanted),
            fields=_PASSWORD if self._callers.trust.takes_passwords else _TOKEN,
        )
        allowed = f"style-src 'nonce-{nonce}'; form-action 'self'"
        policy = f"default-src 'none'; {allowed}; base-uri 'none'; frame-ancestors 'none'"
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Frame-Options": "DENY"}
        reply = HTMLResponse(text, status, headers)
        reply.headers.append("set-cookie", self._visits.cookie_text(self._visits.form_cookie, form))
        return reply

    def _elsewhere(self, wanted: str) -> str:
        if self._provider is None:
            return ""
        begin, end = html.escape(link_to(wanted), quote=True), html.escape(self._provider.end_session_url, quote=True)
        there = html.escape(self._provider.name)
        out = f'<p class="hint"><a href="{end}">Log out at {there}</a></p>' if end else ""
        return f'<p class="hint"><a href="{begin}">Log in with {there}</a></p>{out}'


async def _form(request: Request) -> dict[str, str]:
    body = await request.body()
    if len(body) > FORM_BYTES_MAX:
        raise Problem(413, "Body too large", "no log-in is as long as this", "give a name and a password")
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX)
    except ValueError:
        raise Problem(
            400, "Bad form", f"the form has more than {FORM_FIELDS_MAX} fields", "use the page at /login"
        ) from None
    return {name: values[0] for name, values in fields.items()}
