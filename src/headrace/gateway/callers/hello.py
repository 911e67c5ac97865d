"""Whether a broker says hello, asked for anybody: at most once a second, however many want to know."""

import asyncio
import logging
import time

from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.client.peer import Peer
from headrace.gateway.broker_login import Trust
from headrace.gateway.gateway import CLIENT_ID, Gateway
from headrace.gateway.problem import unreachable

logger = logging.getLogger("headrace.gateway")

HELLO_SECONDS_MAX = 5.0
HELLO_KEPT_SECONDS = 1.0


class Hello:
    """A part of the gateway. Without a login brokers answer which versions they know, and nothing else."""

    def __init__(self, gateway: Gateway, trust: Trust) -> None:
        self._bootstrap = gateway.settings.bootstrap
        self._security = trust.nobody().security
        self._asking = asyncio.Lock()
        self._until = -float("inf")
        self._refusal = ""

    async def start(self) -> None:
        """Nothing yet: brokers are asked when somebody wants to know."""

    async def stop(self) -> None:
        pass

    async def require(self) -> None:
        """The Problem that no broker answers, if none does."""
        async with self._asking:
            if time.monotonic() > self._until:
                self._refusal = await self._ask()
                self._until = time.monotonic() + HELLO_KEPT_SECONDS
        if self._refusal:
            raise unreachable(self._refusal)

    async def _ask(self) -> str:
        reasons = []
        for address in parse_bootstrap(self._bootstrap):
            try:
                async with asyncio.timeout(HELLO_SECONDS_MAX):
                    peer = await Peer.open(address, CLIENT_ID, self._security)
            except (Disconnected, Refused, TimeoutError) as error:
                reasons.append(str(error) or "not in time")
            else:
                peer.connection.close()
                return ""
        # For strangers, who are not told where brokers are.
        logger.warning("no broker answers: %(cause)s", {"cause": "; ".join(reasons)})
        return "no broker answers"
