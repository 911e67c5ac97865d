"""All who are logged in: each login has a gateway of its own, with clients, caches, streams and sessions.

A credential is checked by logging in at a broker, and again after a while if it is used, streams included
(`login_check_seconds`). Between two checks it is known by a keyed hash. Nothing is shared between two credentials, not even
of one name. There are so many logins at most (`callers_max`); the clients of one that is not used are closed after a while,
or when another needs the place.
"""

import asyncio
import contextlib
import hashlib
import logging
import secrets
from collections.abc import Callable, Iterator

from headrace.gateway.broker_login import BrokerLogin, Trust
from headrace.gateway.callers.credential import Credential
from headrace.gateway.callers.login_checks import LoginChecks
from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.sessions import Sessions
from headrace.gateway.intake import too_busy
from headrace.gateway.problem import Problem
from headrace.gateway.push.hub import Hub

logger = logging.getLogger("headrace.gateway")

SWEEP_SECONDS = 1.0
# A fourth of all logins, and of open pages, may be of one holder, who has many tokens or spells one in many ways.
HOLDER_SHARE = 4
# From a login to the first request that it was for.
FIRST_REQUEST_SECONDS_MAX = 1.0


class Caller:
    """One login and its gateway."""

    def __init__(self, credential: Credential, key: bytes, gateway: Gateway, now: float) -> None:
        self.credential = credential
        self.holder = credential.holder
        self.key = key
        self.gateway = gateway
        self.checked_at = self.used_at = now
        self._open = 0
        self._first_by = now + FIRST_REQUEST_SECONDS_MAX

    @property
    def is_used(self) -> bool:
        """True for a new one too: whoever has just logged in is about to ask for something."""
        if self._open > 0 or self.gateway.part(Sessions).count > 0:
            return True
        return asyncio.get_running_loop().time() < self._first_by

    @contextlib.contextmanager
    def serving(self) -> Iterator[Gateway]:
        """Keeps the clients open while a request, a stream or a page goes on."""
        loop = asyncio.get_running_loop()
        self._open += 1
        self._first_by = 0.0
        try:
            yield self.gateway
        finally:
            self._open -= 1
            self.used_at = loop.time()

    async def close(self, reason: str) -> None:
        self.gateway.part(Hub).end_all(reason)
        await self.gateway.stop()


class Callers:
    """A part of the gateway. `furnish` gives a caller's gateway its parts."""

    def __init__(self, home: Gateway, trust: Trust, furnish: Callable[[Gateway], None]) -> None:
        self._home = home
        self.trust = trust
        self._furnish = furnish
        self._check_seconds = home.settings.login_check_seconds
        self._key = secrets.token_bytes(32)
        self._callers: dict[bytes, Caller] = {}
        self._logging_in: dict[bytes, asyncio.Task[Caller]] = {}
        self._checking: dict[bytes, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._checks = LoginChecks(home.settings.bootstrap, trust)
        self._sweeping: asyncio.Task[None] | None = None
        self.on_refused: Callable[[Credential], None] = lambda _: None
        """Called with a login that was taken before and is not any more."""

    async def start(self) -> None:
        self._sweeping = asyncio.create_task(self._run_sweep())

    async def stop(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        for running in [*self._checking.values(), *self._logging_in.values()]:
            running.cancel()
        for caller in list(self._callers.values()):
            self._let_go(caller, "the gateway stops")
        await asyncio.gather(*self._closing, return_exceptions=True)

    def end_streams(self, reason: str) -> None:
        for caller in self._callers.values():
            caller.gateway.part(Hub).end_all(reason)

    def refused(self, detail: str) -> Problem:
        return self._checks.refused(detail)

    # -- who is it ---------------------------------------------------------------------------------------------------

    async def welcome(self, credential: Credential, address: str) -> Caller:
        """The caller of a credential that a broker takes; Problem 401 if none does, 503 if none answers."""
        key = self._hash(credential)
        while True:
            known = self._callers.get(key)
            if known is not None and self._now() - known.checked_at < self._check_seconds:
                return known
            running = self._logging_in.get(key)
            if running is None:
                running = self._logging_in[key] = asyncio.create_task(self._log_in(credential, key, address))
                running.add_done_callback(lambda done: self._on_logged_in(key, done))
            caller = await asyncio.shield(running)
            # Its clients may have been closed for another login before we were told.
            if self._callers.get(key) is caller:
                return caller

    def _on_logged_in(self, key: bytes, done: "asyncio.Task[Caller]") -> None:
        self._logging_in.pop(key, None)
        if not done.cancelled():
            # Whoever waited may have gone, and an error that nobody takes would be logged as a fault.
            done.exception()

    async def _log_in(self, credential: Credential, key: bytes, address: str) -> Caller:
        known = self._callers.get(key)
        identity = self.trust.identity(credential)
        if known is None:
            await self._checks.check_stranger(identity, address)
        else:
            await self._check_known(known, identity)
        if key in self._callers:
            self._callers[key].checked_at = self._now()
            return self._callers[key]
        return await self._open(credential, key, identity)

    async def _check_known(self, caller: Caller, identity: BrokerLogin) -> None:
        try:
            await self._checks.check_known(identity)
        except Problem as problem:
            if problem.status == 401:
                self._let_go(caller, "this login is not taken any more")
                self.on_refused(caller.credential)
            raise

    # -- whose clients are open ----------------------------------------------------------------------------------------

    async def _open(self, credential: Credential, key: bytes, identity: BrokerLogin) -> Caller:
        self._make_room(credential)
        gateway = Gateway(self._home.settings, identity, self._home)
        gateway.holder = credential.holder
        self._furnish(gateway)
        await gateway.start()
        caller = self._callers[key] = Caller(credential, key, gateway, self._now())
        return caller

    def _make_room(self, credential: Credential) -> None:
        most, everybody = self._home.settings.callers_max, list(self._callers.values())
        share = max(1, most // HOLDER_SHARE)
        own = [each for each in everybody if each.holder == credential.holder]
        self._make_room_among(own, share, f"there are {share} logins of one holder with open clients (of callers_max)")
        if len(own) < share:
            self._make_room_among(everybody, most, f"there are {most} logins with open clients (callers_max)")

    def _make_room_among(self, callers: list[Caller], most: int, otherwise: str) -> None:
        if len(callers) < most:
            return
        idle = [each for each in callers if not each.is_used]
        if not idle:
            raise too_busy(otherwise)
        self._let_go(min(idle, key=lambda each: each.used_at), "another login needs the place")

    def _let_go(self, caller: Caller, reason: str) -> None:
        if self._callers.get(caller.key) is caller:
            del self._callers[caller.key]
        closing = asyncio.create_task(self._close(caller, reason))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    @staticmethod
    async def _close(caller: Caller, reason: str) -> None:
        try:
            await caller.close(reason)
        except Exception:
            logger.exception("the clients of a login could not be closed")

    async def _run_sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = self._now()
            for caller in list(self._callers.values()):
                if caller.is_used and now - caller.checked_at > self._check_seconds:
                    self._check_in_background(caller)
                elif not caller.is_used and now - caller.used_at > self._home.settings.caller_idle_seconds:
                    self._let_go(caller, "nothing was asked for a while")

    def _check_in_background(self, caller: Caller) -> None:
        """Streams and pages go on for hours: a user who is taken out must not. No login waits for the check of another."""
        if caller.key not in self._checking:
            checking = self._checking[caller.key] = asyncio.create_task(self._check_again(caller))
            checking.add_done_callback(lambda _: self._checking.pop(caller.key, None))

    async def _check_again(self, caller: Caller) -> None:
        try:
            await self.welcome(caller.credential, "")
        except Problem as problem:
            logger.info("a login was checked again: %(cause)s", {"cause": problem.detail})
        except Exception:
            logger.exception("a login could not be checked again")

    def _hash(self, credential: Credential) -> bytes:
        name = credential.name.encode("utf-8", "surrogatepass")
        said = b"%d:%b%b" % (len(name), name, credential.secret.encode("utf-8", "surrogatepass"))
        return hashlib.blake2b(said, key=self._key, digest_size=32).digest()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
