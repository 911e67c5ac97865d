"""Identities of webhooks to the brokers: the gateway itself, or where callers log in its owner, as far as its mandate goes.

Clients are opened for those that have work, and closed with it or when the mandate is another.
"""

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.gateway.callers.credential import Credential
from headrace.gateway.gateway import Gateway
from headrace.gateway.webhooks.subscription import Mandate, Subscription
from headrace.wire.codes import ErrorCode


class _Actor(NamedTuple):
    mandate: Mandate
    gateway: Gateway


class Actors:
    def __init__(self, home: Gateway) -> None:
        self._home = home
        self._actors: dict[str, _Actor] = {}
        self._opening = asyncio.Lock()

    def has(self, subscription: Subscription) -> bool:
        """Whether it may act at all: one from before callers had to log in has no mandate."""
        return self._home.trust is None or subscription.mandate is not None

    async def of(self, subscription: Subscription) -> Gateway:
        """The gateway with its rights."""
        trust, mandate = self._home.trust, subscription.mandate
        if trust is None:
            return self._home
        if mandate is None:
            raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "it has no token to act by")
        async with self._opening:
            known = self._actors.get(subscription.id)
            if known is None or known.mandate != mandate:
                await self._close(subscription.id)
                gateway = Gateway(self._home.settings, trust.identity(Credential("", mandate.token)), self._home)
                await gateway.start()
                known = self._actors[subscription.id] = _Actor(mandate, gateway)
        return known.gateway

    async def keep_only(self, ids: Collection[str]) -> None:
        async with self._opening:
            for id in self._actors.keys() - set(ids):
                await self._close(id)

    async def _close(self, id: str) -> None:
        actor = self._actors.pop(id, None)
        if actor is not None:
            await actor.gateway.stop()
