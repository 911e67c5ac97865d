"""Connections that only go to addresses `target` allows: the name is resolved, judged, and the judged address dialled.

A backend of httpcore, below TLS: certificates are still checked against the name in the URL.
"""

import asyncio
import socket
from collections.abc import Iterable, Sequence

import httpcore
from httpcore import AnyIOBackend, AsyncNetworkBackend, AsyncNetworkStream

from headrace.gateway.webhooks.target import Network, check_addresses

RESOLVE_SECONDS_MAX = 10.0
SocketOption = httpcore.SOCKET_OPTION


class CheckedConnections(AsyncNetworkBackend):
    def __init__(self, allowed: Sequence[Network]) -> None:
        self._allowed = allowed
        self._dial = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> AsyncNetworkStream:
        addresses = check_addresses(host, await resolve(host, port), self._allowed)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._dial.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  as above
        socket_options: Iterable[SocketOption] | None = None,
    ) -> AsyncNetworkStream:
        raise httpcore.ConnectError("a webhook goes to a host")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS_MAX):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise httpcore.ConnectError(f"{host} cannot be resolved: {error or 'no answer'}") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
