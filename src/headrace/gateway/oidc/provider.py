"""The OpenID provider: found out about at the start, asked for tokens with each log-in.

Everything of it is read over https, from the addresses that it describes itself with, and bounded. A gateway whose
settings are not complete, or whose provider cannot be read, does not start.
"""

import asyncio
import base64
import json
import logging
import ssl
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from headrace.base.errors import PeerError, UserError
from headrace.gateway.intake import too_busy
from headrace.gateway.oidc.answers import Endpoints, Expected, LoggedIn, check_tokens, endpoints
from headrace.gateway.oidc.journey import Journey
from headrace.gateway.problem import unreachable
from headrace.gateway.settings import GatewaySettings
from headrace.identity.claims import LoginRefused
from headrace.identity.https_reader import fetch
from headrace.identity.login_work import LoginWork
from headrace.identity.signed_tokens import TokenVerifier, require_library
from headrace.identity.signing_keys import Pauses, SigningKeys

logger = logging.getLogger("headrace.gateway")

DONE = "/login/oidc/done"
READ_SECONDS_MAX = 10.0
ANSWER_BYTES_MAX = 1 << 20
EXCHANGES_MAX = 8
EXCHANGES_WAITING_MAX = 100
_PAUSES = Pauses(refresh_seconds=3600.0, retry_seconds=5.0, retry_seconds_max=300.0)
_WANTED = ("oidc_issuer", "oidc_client_id", "oidc_audience", "oidc_redirect_url")
_ALSO = ("oidc_client_secret_file", "oidc_ca")
_FIX = "docs/rest.md, Logins, has what a log-in by an OpenID provider needs"


class Provider:
    """A part of the gateway."""

    _endpoints: Endpoints
    _keys: SigningKeys
    _work: LoginWork
    _verifier: TokenVerifier
    _refreshing: asyncio.Task[None]

    def __init__(self, settings: GatewaySettings) -> None:
        require_library()
        self._expected = Expected(settings.oidc_issuer, settings.oidc_client_id, settings.oidc_audience)
        self._redirect_url = settings.oidc_redirect_url
        self._scopes = " ".join(settings.oidc_scopes)
        self._secret = _secret(settings.oidc_client_secret_file)
        self._tls = _trusted(settings.oidc_ca)
        self._exchanges = asyncio.Semaphore(EXCHANGES_MAX)
        self._waiting = 0

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        issuer = self._expected.issuer
        try:
            described = await asyncio.to_thread(self._read, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            self._endpoints = endpoints(json.loads(described), issuer)
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"the OpenID provider {issuer} cannot be read: {error}", _FIX) from None
        jwks = self._endpoints.jwks
        self._keys = SigningKeys(partial(self._read, jwks), jwks, _PAUSES, loop)
        self._work = LoginWork(loop)
        self._verifier = TokenVerifier(self._keys, self._work)
        await self._keys.load(_FIX)
        self._refreshing = asyncio.create_task(self._keys.run())

    async def stop(self) -> None:
        self._refreshing.cancel()
        self._keys.close()
        self._work.close()

    @property
    def name(self) -> str:
        return urlsplit(self._expected.issuer).hostname or self._expected.issuer

    @property
    def issuer(self) -> str:
        return self._expected.issuer

    @property
    def end_session_url(self) -> str:
        """The page that ends the log-in at the provider itself; empty where it has none."""
        url = self._endpoints.end_session
        return _with_query(url, {"client_id": self._expected.client_id}) if url else ""

    def authorization_url(self, journey: Journey) -> str:
        asked = {
            "response_type": "code",
            "client_id": self._expected.client_id,
            "redirect_uri": self._redirect_url,
            "scope": self._scopes,
            "state": journey.state,
            "nonce": journey.nonce,
            "code_challenge": journey.challenge,
            "code_challenge_method": "S256",
        }
        return _with_query(self._endpoints.authorization, asked)

    async def log_in(self, code: str, journey: Journey) -> tuple[str, LoggedIn]:
        """The access token for a code, and whose it is; `LoginRefused` for what is not as it should be."""
        if self._waiting >= EXCHANGES_WAITING_MAX:
            raise too_busy(f"{self._waiting} log-ins wait for the OpenID provider already")
        self._waiting += 1
        try:
            async with self._exchanges:
                return await self._exchange(code, journey)
        finally:
            self._waiting -= 1

    async def _exchange(self, code: str, journey: Journey) -> tuple[str, LoggedIn]:
        answer = await self._tokens(code, journey)
        id_token, access_token = answer.get("id_token"), answer.get("access_token")
        if not isinstance(id_token, str) or not isinstance(access_token, str):
            raise LoginRefused("the provider gave no ID token and access token")
        try:
            id_claims, access_claims = [await self._verifier.claims_of(each) for each in (id_token, access_token)]
        except PeerError as error:
            raise too_busy(str(error)) from None
        now_ms = int(time.time() * 1000)
        return access_token, check_tokens(id_claims, access_claims, access_token, journey.nonce, self._expected, now_ms)

    async def _tokens(self, code: str, journey: Journey) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_url,
            "client_id": self._expected.client_id,
            "code_verifier": journey.verifier,
        }
        try:
            text = await asyncio.to_thread(self._read, self._endpoints.token, urlencode(form).encode())
            answer = json.loads(text)
        except OSError as error:
            if _status(error) in (400, 401, 403):
                raise LoginRefused(f"the provider does not take the code ({error})") from None
            logger.warning("the OpenID provider does not answer: %(cause)s", {"cause": error})
            raise unreachable("the OpenID provider does not answer") from None
        except (ValueError, RecursionError):
            raise LoginRefused("the provider answers no JSON") from None
        if not isinstance(answer, dict):
            raise LoginRefused("the provider answers no JSON object")
        return answer

    def _read(self, url: str, form: bytes | None = None) -> bytes:
        headers = {"Accept": "application/json"}
        if form is not None and self._secret:
            told = f"{quote(self._expected.client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(told.encode()).decode()}"
        return fetch(url, READ_SECONDS_MAX, ANSWER_BYTES_MAX, self._tls, form, headers)


def provider_of(settings: GatewaySettings) -> Provider | None:
    """None where nothing is said of one; UserError where not all is said, or nobody logs in."""
    said = [name for name in (*_WANTED, *_ALSO) if getattr(settings, name)]
    if not said:
        return None
    missing = [name for name in _WANTED if not getattr(settings, name)]
    if missing:
        raise UserError(f"{said[0]} is set, and {missing[0]} is not", _FIX)
    if not settings.callers_log_in:
        raise UserError(f"{said[0]} is set, and nobody logs in at this gateway", _FIX)
    _check_urls(settings)
    return Provider(settings)


def _check_urls(settings: GatewaySettings) -> None:
    issuer, back = urlsplit(settings.oidc_issuer), urlsplit(settings.oidc_redirect_url)
    if issuer.scheme != "https" or not issuer.hostname or issuer.query or issuer.fragment:
        raise UserError(f"oidc_issuer={settings.oidc_issuer} is no https URL", _FIX)
    is_here = back.hostname in ("localhost", "127.0.0.1", "::1")
    if back.path != DONE or back.query or back.fragment or not (back.scheme == "https" or is_here):
        raise UserError(
            f"oidc_redirect_url={settings.oidc_redirect_url} is not where a browser comes back to",
            f"it is https://, the gateway's name and {DONE}",
        )
    if "openid" not in settings.oidc_scopes:
        raise UserError("oidc_scopes is without openid", "openid has to be among them")


def _secret(path: str) -> str:
    try:
        secret = Path(path).read_text().strip() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the secret of the OpenID client cannot be read: {error}", _FIX) from None
    if path and not secret:
        raise UserError(f"{path} holds no secret", "see the setting oidc_client_secret_file")
    return secret


def _trusted(path: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path or None)
    except (OSError, ssl.SSLError) as error:
        raise UserError(f"oidc_ca={path} cannot be used: {error}", "name a PEM file of authorities") from None


def _with_query(url: str, asked: dict[str, str]) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(asked)}"


def _status(error: OSError) -> int:
    return int(getattr(error, "code", 0) or 0)
