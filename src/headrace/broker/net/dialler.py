"""Connections from this broker to others: the one place that opens them.

Brokers call each other on one listener, by its protocol: over TLS where it has TLS, and logged in as the user that its
`sasl.jaas.config` names where it has SASL.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable

from headrace.base.errors import Refused
from headrace.client.connection import ClientConnection, Disconnected
from headrace.client.security import Sasl, authenticate
from headrace.cluster.entities import Broker as Registration

logger = logging.getLogger("headrace.peers")


class Dialler:
    """`tls` gives the context of the moment, as certificates may be replaced; None for connections without TLS."""

    def __init__(
        self, listener: str, tls: Callable[[], ssl.SSLContext | None] = lambda: None, sasl: Sasl | None = None
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._sasl = sasl

    async def open(self, peer: Registration, client_id: str, seconds_max: float) -> ClientConnection:
        """A connection that may ask; `Disconnected` when there is none in time, or the other broker turns us away."""
        if self._sasl is None:
            return await self.connect(peer, client_id, seconds_max)
        try:
            async with asyncio.timeout(seconds_max):
                return await self._log_in(await self.connect(peer, client_id, seconds_max), self._sasl, seconds_max)
        except TimeoutError as error:
            raise Disconnected(f"broker {peer.id} did not let us log in in time") from error
        except Refused as refusal:
            fields = {"other_broker": peer.id, "cause": refusal.message}
            logger.error("broker %(other_broker)d does not let us log in: %(cause)s", fields)
            raise Disconnected(refusal.message) from refusal

    async def connect(self, peer: Registration, client_id: str, seconds_max: float) -> ClientConnection:
        """A connection before any login."""
        endpoint = peer.endpoint(self._listener)
        if endpoint is None:
            raise Disconnected(f"broker {peer.id} has no listener {self._listener} (inter.broker.listener.name)")
        return await ClientConnection.open(endpoint.host, endpoint.port, client_id, seconds_max, self._tls())

    async def _log_in(self, connection: ClientConnection, sasl: Sasl, seconds_max: float) -> ClientConnection:
        try:
            await authenticate(connection, sasl, seconds_max)
        except BaseException:
            connection.close()
            raise
        return connection
