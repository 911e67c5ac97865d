"""Requests from this broker to others, other than fetches: one connection to each, opened when first needed.

A connection that failed is forgotten, and the next request opens another. Whoever asks decides whether to ask again.
"""

import asyncio
from typing import TypeVar

from headrace.broker.membership.view import View
from headrace.broker.net.dialler import Dialler
from headrace.client.connection import ClientConnection, Disconnected
from headrace.wire.schema import Request, Response

CONNECT_SECONDS_MAX = 5.0

R = TypeVar("R", bound=Response)


class Peers:
    def __init__(self, view: View, dialler: Dialler) -> None:
        self._view = view
        self._dialler = dialler
        self._connections: dict[int, ClientConnection] = {}
        self._opening: dict[int, asyncio.Lock] = {}

    async def ask(self, broker_id: int, request: Request, response: type[R], version: int, seconds_max: float) -> R:
        connection = await self._connection(broker_id)
        return await connection.ask(request, response, version, seconds_max)

    async def _connection(self, broker_id: int) -> ClientConnection:
        async with self._opening.setdefault(broker_id, asyncio.Lock()):
            known = self._connections.get(broker_id)
            if known is not None and not known.is_lost:
                return known
            peer = self._view.image.brokers.get(broker_id)
            if peer is None:
                raise Disconnected(f"there is no broker {broker_id}")
            name = f"broker-{self._view.id}"
            opened = await self._dialler.open(peer, name, CONNECT_SECONDS_MAX)
            self._connections[broker_id] = opened
            return opened

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
