"""A connection to one broker together with what that broker understands: versions are the highest that both know.

TLS and SASL, where `Security` asks for them, are done before the first question; a broker that turns us away raises
Refused, one that is not there Disconnected.
"""

import asyncio
from collections.abc import Mapping
from typing import TypeVar

from headrace.base.errors import Refused
from headrace.client.connection import ClientConnection
from headrace.client.security import Security, authenticate
from headrace.wire.apis import APIS
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.schema import Request, Response

PEER_CONNECT_SECONDS_MAX = 3.0
REPLY_SECONDS_MAX = 40.0

R = TypeVar("R", bound=Response)
Address = tuple[str, int]


class Peer:
    def __init__(self, connection: ClientConnection, versions: Mapping[int, int]) -> None:
        self.connection = connection
        self.versions = versions

    @classmethod
    async def open(cls, address: Address, client_id: str, security: Security | None = None) -> "Peer":
        tls = security.tls if security else None
        connection = await ClientConnection.open(*address, client_id, PEER_CONNECT_SECONDS_MAX, tls)
        try:
            # Kafka answers this one before it has authenticated anybody.
            known = await connection.ask(ApiVersionsRequest(), ApiVersionsResponse, 0, REPLY_SECONDS_MAX)
            if security and security.sasl:
                await authenticate(connection, security.sasl, REPLY_SECONDS_MAX)
        except BaseException:
            connection.close()
            raise
        return cls(connection, {each.api_key: each.max_version for each in known.api_keys})

    async def ask(
        self,
        request: Request,
        response: type[R],
        seconds_max: float = REPLY_SECONDS_MAX,
        version_max: int | None = None,
    ) -> R:
        api = APIS[request.API_KEY]
        version = min(api.max_version, self.versions.get(api.key, -1))
        if version < api.min_version:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"the broker does not offer {api.name}")
        if version_max is not None:
            version = min(version, version_max)
        return await self.connection.ask(request, response, version, seconds_max)


class PeerConnections:
    """Connections by address, opened when they are needed and kept.

    A broker answers a connection's requests in order, so one that waits for data would hold up all that follow it:
    `ask` shares a connection per broker, `poll` has one to itself for as long as it takes.
    """

    IDLE_MAX = 8

    def __init__(self, client_id: str, security: Security | None = None) -> None:
        self._client_id = client_id
        self._security = security
        self._shared: dict[Address, Peer] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._idle: dict[Address, list[Peer]] = {}
        self._polling: set[Peer] = set()

    def close(self) -> None:
        idle = [peer for peers in self._idle.values() for peer in peers]
        for peer in [*self._shared.values(), *idle, *self._polling]:
            peer.connection.close()
        self._shared, self._idle = {}, {}

    async def ask(
        self,
        address: Address,
        request: Request,
        response: type[R],
        seconds_max: float = REPLY_SECONDS_MAX,
        version_max: int | None = None,
    ) -> R:
        async with self._opening.setdefault(address, asyncio.Lock()):
            peer = self._shared.get(address)
            if peer is None or peer.connection.is_lost:
                peer = self._shared[address] = await self._open(address)
        return await peer.ask(request, response, seconds_max, version_max)

    async def poll(
        self, address: Address, request: Request, response: type[R], seconds_max: float, version_max: int
    ) -> R:
        idle = self._idle.setdefault(address, [])
        peer = idle.pop() if idle else await self._open(address)
        self._polling.add(peer)
        try:
            reply = await peer.ask(request, response, seconds_max, version_max)
        except BaseException:
            # An answer may still be on its way, in front of the next one's.
            peer.connection.close()
            raise
        finally:
            self._polling.discard(peer)
        if len(idle) < self.IDLE_MAX:
            idle.append(peer)
        else:
            peer.connection.close()
        return reply

    async def _open(self, address: Address) -> Peer:
        return await Peer.open(address, self._client_id, self._security)
