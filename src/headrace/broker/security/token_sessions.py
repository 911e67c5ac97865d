"""The sessions of tokens on this broker: closed as soon as their token is revoked, or its life cut short.

Not with their next request: a parked fetch would show what was written since.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.broker.net.connection import Connection
from headrace.cluster.entities import Token
from headrace.security.tokens import sweep

logger = logging.getLogger("headrace.login")

INTERVAL: Final = "delegation.token.expiry.check.interval.ms"


class TokenSessions:
    def __init__(self, view: View, connections: Callable[[], Iterable[Connection]]) -> None:
        self._view = view
        self._connections = connections
        self._tokens = view.image.tokens

    def on_image(self) -> None:
        before, self._tokens = self._tokens, self._view.image.tokens
        if before is self._tokens:
            return
        ended = {token.id for token in before.values() if _ends_sooner(token, self._tokens)}
        revoked = {each for token in self._tokens.values() for each in _newly_revoked(before.get(token.id), token)}
        if not ended and not revoked:
            return
        for connection in list(self._connections()):
            rights = connection.rights
            if rights.token_id in ended or not revoked.isdisjoint(rights.fingerprints):
                connection.close_because("its token was revoked")

    async def strike_off_expired(self) -> None:
        """Strikes tokens that have expired off the metadata, on the broker that controls the cluster."""
        while True:
            await asyncio.sleep(self._view.config.number(INTERVAL) / 1000)
            if self._view.controller_id != self._view.id:
                continue
            try:
                await self._view.metadata.change(lambda image: list(sweep(image, self._view.clock.now().wall)))
            except Refused as refusal:
                logger.warning("expired tokens stay for now: %(cause)s", {"cause": refusal.message})


def _newly_revoked(before: Token | None, token: Token) -> tuple[str, ...]:
    """The fingerprints of those narrowed from it that are revoked since."""
    if before is None or len(before.revoked) >= len(token.revoked):
        return ()
    return token.revoked[len(before.revoked) :]


def _ends_sooner(token: Token, tokens: Mapping[str, Token]) -> bool:
    now = tokens.get(token.id)
    return now is None or now.expires_ms < token.expires_ms
