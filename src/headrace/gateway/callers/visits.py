"""Visits: log-ins to the UI by browsers, kept here and known by a cookie that says nothing by itself.

A visit ends when it is logged out, was not used for a while, or is a day old; all end with the process. What its browser
sends to change anything carries the visit's token, which no page of another site can know.
"""

import asyncio
import contextlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from hashlib import blake2b

from starlette.requests import cookie_parser
from starlette.types import Scope

from headrace.gateway.callers.credential import Credential

VISITS_MAX = 1000
# Of one holder, so that nobody ends those of others by logging in again and again.
VISITS_PER_LOGIN_MAX = 20
VISIT_SECONDS_MAX = 24 * 3600.0
# In the scope of a request of a visit.
VISIT = "headrace.visit"


class Visit:
    def __init__(
        self, key: bytes, credential: Credential, now: float, name: str = "", seconds_max: float = 0.0
    ) -> None:
        """`seconds_max` is how long its token lives; 0 for what does not end."""
        self.key = key
        self.credential = credential
        self._name = name
        self._seconds_max = min(seconds_max or VISIT_SECONDS_MAX, VISIT_SECONDS_MAX)
        self.token = secrets.token_urlsafe(24)
        self.began_at = self.used_at = now
        self.is_ended = False
        self._open = 0

    @property
    def is_open(self) -> bool:
        return self._open > 0

    @property
    def name(self) -> str:
        return self._name or self.credential.name or "token"

    @property
    def ends_at(self) -> float:
        return self.began_at + self._seconds_max

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Counts as used as long as a request or an open page goes on."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self.used_at = _now()

    def is_over(self, now: float, idle_seconds: float) -> bool:
        is_unused = not self._open and now - self.used_at > idle_seconds
        return is_unused or now > self.ends_at

    def is_own(self, token: str) -> bool:
        return hmac.compare_digest(self.token.encode(), token.encode("utf-8", "replace"))


class Visits:
    """A part of the gateway."""

    _sweeping: asyncio.Task[None]

    def __init__(self, idle_seconds: float, is_secure: bool) -> None:
        self._idle_seconds = idle_seconds
        self._is_secure = is_secure
        # A name that browsers keep to https and to this host alone.
        prefix = "__Host-" if is_secure else ""
        self.cookie, self.form_cookie = f"{prefix}headrace", f"{prefix}headrace-login"
        self._visits: dict[bytes, Visit] = {}
        self.on_end: Callable[[Visit], None] = lambda _: None

    def begin(self, credential: Credential, name: str = "", seconds_max: float = 0.0) -> str:
        """The text of the cookie; `name` is what pages show, and the visit ends after `seconds_max`, if it is not 0."""
        self._forget_old()
        own = [each for each in self._visits.values() if each.credential.holder == credential.holder]
        self._make_room(own, VISITS_PER_LOGIN_MAX)
        self._make_room(list(self._visits.values()), VISITS_MAX)
        id = secrets.token_urlsafe(32)
        key = _key(id)
        self._visits[key] = Visit(key, credential, _now(), name, seconds_max)
        return self.cookie_text(self.cookie, id)

    def _make_room(self, visits: list[Visit], most: int) -> None:
        """Ends visits until there is a place for one more; those that have no page open go first."""
        visits.sort(key=lambda each: (each.is_open, each.used_at))
        for visit in visits[: max(0, len(visits) - most + 1)]:
            self.end(visit)

    def cookie_text(self, name: str, value: str) -> str:
        """A Set-Cookie header; an empty value takes the cookie away."""
        away = "" if value else "; Max-Age=0"
        return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if self._is_secure else "") + away

    def of(self, scope: Scope) -> Visit | None:
        id = cookie_in(scope, self.cookie)
        visit = self._visits.get(_key(id)) if id else None
        return visit if visit is not None and not visit.is_over(_now(), self._idle_seconds) else None

    def end(self, visit: Visit) -> None:
        if self._visits.pop(visit.key, None) is not None:
            visit.is_ended = True
            self.on_end(visit)

    def end_all_of(self, credential: Credential) -> None:
        for visit in [each for each in self._visits.values() if each.credential == credential]:
            self.end(visit)

    def _forget_old(self) -> None:
        now = _now()
        for visit in [each for each in self._visits.values() if each.is_over(now, self._idle_seconds)]:
            self.end(visit)

    def _seconds_to_next_end(self) -> float:
        return max(1.0, min((each.ends_at for each in self._visits.values()), default=_now() + 60.0) - _now())

    async def start(self) -> None:
        self._sweeping = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self._sweeping.cancel()

    async def _run(self) -> None:
        """Ends visits in time, their open pages too."""
        while True:
            await asyncio.sleep(min(30.0, self._idle_seconds, self._seconds_to_next_end()))
            self._forget_old()


def cookie_in(scope: Scope, name: str) -> str:
    """Odd cookies of others beside it, which the standard library would drop all cookies for, are passed over."""
    for header, value in scope["headers"]:
        if header == b"cookie" and name in (cookies := cookie_parser(value.decode("latin-1"))):
            return cookies[name]
    return ""


def _key(id: str) -> bytes:
    """The id itself is not kept, so that nothing that is read here is a cookie."""
    return blake2b(id.encode("utf-8", "replace"), digest_size=32).digest()


def _now() -> float:
    return asyncio.get_running_loop().time()
