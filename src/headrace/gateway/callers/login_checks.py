"""Checks of logins at the brokers: a login that one of them takes is good, for everything else there is a Problem.

So many are on their way at once, and strangers do not make those wait who are known. What a stranger sends is a guess, and
counts against their address until a broker has taken it.
"""

import asyncio
import logging

from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.client.peer import Peer
from headrace.gateway.broker_login import BrokerLogin, Trust
from headrace.gateway.callers.failed_logins import FailedLogins
from headrace.gateway.gateway import CLIENT_ID
from headrace.gateway.intake import too_busy
from headrace.gateway.problem import Problem, unreachable
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.gateway")

LOGIN_SECONDS_MAX = 10.0
# One over SCRAM costs some milliseconds of hashing.
CHECKS_MAX = 16
CHECKS_WAITING_MAX = 200
# Before a login that was not taken is answered.
REFUSED_PAUSE_SECONDS = 0.3
_BEARER = 'Bearer realm="headrace"'
_BASIC = 'Basic realm="headrace", charset="UTF-8"'
_REFUSALS = (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_SASL_MECHANISM)


class LoginChecks:
    def __init__(self, bootstrap: str, trust: Trust) -> None:
        self._bootstrap = parse_bootstrap(bootstrap)
        self._trust = trust
        self._failed = FailedLogins()
        self._strangers = asyncio.Semaphore(CHECKS_MAX)
        self._known = asyncio.Semaphore(CHECKS_MAX)
        self._waiting = 0

    async def check_stranger(self, login: BrokerLogin, address: str) -> None:
        """Problem 401, after a pause, for a login that is not taken; 429 for an address with too many of them."""
        self._count(address)
        try:
            await self._check_in_turn(login)
        except Problem as problem:
            if problem.status != 401:
                self._forgive(address)
                raise
            await asyncio.sleep(REFUSED_PAUSE_SECONDS)
            raise
        self._forgive(address)

    async def check_known(self, login: BrokerLogin) -> None:
        async with self._known:
            await self._check(login)

    async def _check_in_turn(self, login: BrokerLogin) -> None:
        if self._waiting >= CHECKS_WAITING_MAX:
            raise too_busy(f"{self._waiting} logins wait for the brokers already")
        self._waiting += 1
        try:
            async with self._strangers:
                await self._check(login)
        finally:
            self._waiting -= 1

    async def _check(self, login: BrokerLogin) -> None:
        try:
            async with asyncio.timeout(LOGIN_SECONDS_MAX):
                await self._ask_brokers(login)
        except TimeoutError:
            raise unreachable(f"no broker answered a login within {LOGIN_SECONDS_MAX:g} s") from None

    async def _ask_brokers(self, login: BrokerLogin) -> None:
        reasons = []
        for address in self._bootstrap:
            try:
                peer = await Peer.open(address, CLIENT_ID, login.security)
            except Disconnected as error:
                reasons.append(str(error))
                continue
            except Refused as refusal:
                raise self._refusal(refusal) from None
            peer.connection.close()
            return
        # Strangers read the answer, and are not told where brokers are.
        logger.warning("a login could not be checked, no broker answers: %(cause)s", {"cause": "; ".join(reasons)})
        raise unreachable("no broker answers")

    def _refusal(self, refusal: Refused) -> Problem:
        """Nothing of the broker's own sentence: it may name what was sent."""
        if refusal.code not in _REFUSALS:
            return unreachable(f"the brokers take no logins here (error {refusal.code})")
        if refusal.code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            return self.refused("the brokers do not take logins of this kind")
        return self.refused("the brokers do not take this login")

    def refused(self, detail: str) -> Problem:
        """The answer to a request that nobody is known to have sent."""
        fix, challenge = "send a token that the brokers take", _BEARER
        if self._trust.takes_passwords:
            fix = "send the name and the password of a user of the cluster, or a token that its brokers take"
            challenge = f"{_BASIC}, {_BEARER}"
        return Problem(401, "Not logged in", detail, fix, headers={"WWW-Authenticate": challenge})

    def _count(self, address: str) -> None:
        seconds = self._failed.count(address, _now())
        if seconds:
            raise Problem(
                429,
                "Too many failed logins",
                "too many logins from this address have failed",
                "check name and password, and try again after the time in Retry-After",
                headers={"Retry-After": str(int(seconds) + 1)},
            )

    def _forgive(self, address: str) -> None:
        self._failed.forgive(address, _now())


def _now() -> float:
    return asyncio.get_running_loop().time()
