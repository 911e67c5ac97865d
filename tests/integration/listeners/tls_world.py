"""Certificates and brokers with TLS, and what tests ask of them on raw connections."""

import asyncio
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.cli.run.ports import free_port
from headrace.cli.security.certificates import Authority, save_private
from headrace.client.connection import ClientConnection
from headrace.testing import Broker
from headrace.wire.schema import Request, Response

HOST = "127.0.0.1"
NAMES = ("localhost", HOST)


class Certificates:
    """A folder with an authority, certificates of brokers and of clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority.in_folder(folder, 30)
        self.ca = str(folder / "ca.pem")

    def broker(self, name: str = "broker", hosts: tuple[str, ...] = NAMES, days: float = 30) -> str:
        return self._save(name, self.authority.issue(name, hosts, days))

    def client(self, name: str, days: float = 30) -> str:
        return self._save(name, self.authority.issue(name, (), days))

    def _save(self, name: str, pem: bytes) -> str:
        path = self.folder / f"{name}.pem"
        save_private(path, pem)
        return str(path)

    def context(self, certificate: str = "") -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca)
        if certificate:
            context.load_cert_chain(certificate)
        return context

    def librdkafka(self, certificate: str = "") -> dict[str, str]:
        """The options of librdkafka for a listener with TLS."""
        own = {"ssl.certificate.location": certificate, "ssl.key.location": certificate} if certificate else {}
        return {"security.protocol": "SSL", "ssl.ca.location": self.ca, **own}


class SecureBroker:
    """A broker with a plain listener for brokers and one with TLS for clients."""

    def __init__(self, certificates: Certificates, **settings: str) -> None:
        self.port, self.inside_port = free_port(HOST), free_port(HOST)
        self.certificates = certificates
        given = {name.replace("_", "."): value for name, value in settings.items()}
        self.broker = Broker(
            {
                "listeners": f"INSIDE://{HOST}:{self.inside_port},TLS://{HOST}:{self.port}",
                "listener.security.protocol.map": "INSIDE:PLAINTEXT,TLS:SSL",
                "inter.broker.listener.name": "INSIDE",
                "ssl.keystore.location": certificates.broker(),
                "ssl.truststore.location": certificates.ca,
                **given,
            },
            log_level="info",
        )

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def inside(self) -> str:
        return f"{HOST}:{self.inside_port}"


def ask(port: int, request: Request, response: type[Response], version: int, tls: ssl.SSLContext | None = None) -> Any:
    """The answer on a connection of its own."""

    async def asked() -> Any:
        connection = await ClientConnection.open(HOST, port, "test", 10.0, tls)
        try:
            return await connection.ask(request, response, version, 10.0)
        finally:
            connection.close()

    return asyncio.run(asked())


class PortMap:
    """TCP from ports to others of this machine, as NAT or Docker would do it; in a thread of its own."""

    def __init__(self, targets: Mapping[int, int]) -> None:
        self._targets = targets
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._open: set[_Near] = set()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()

    async def _run(self) -> None:
        servers = [
            await self._loop.create_server(lambda target=target: _Near(target, self._open), HOST, port)
            for port, target in self._targets.items()
        ]
        self._ready.set()
        await self._stop.wait()
        for server in servers:
            server.close()
        for near in list(self._open):
            await near.close()


class _Near(asyncio.Protocol):
    """The side of the client: what it sends goes to the other side as it comes."""

    def __init__(self, target: int, others: "set[_Near]") -> None:
        self._target = target
        self._others = others
        self._waiting: list[bytes] = []
        self._far: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        self._near = transport
        self._others.add(self)
        self._opening = asyncio.ensure_future(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        self._far, _ = await loop.create_connection(lambda: _Far(self._near), HOST, self._target)
        for piece in self._waiting:
            self._far.write(piece)

    def data_received(self, data: bytes) -> None:
        if self._far is None:
            self._waiting.append(data)
        else:
            self._far.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._far is not None:
            self._far.close()
            self._others.discard(self)

    async def close(self) -> None:
        await asyncio.gather(self._opening, return_exceptions=True)
        self._near.abort()
        if self._far is not None:
            self._far.abort()
        # Transports close in the next turn.
        await asyncio.sleep(0)
        await asyncio.sleep(0)


class _Far(asyncio.Protocol):
    def __init__(self, near: asyncio.Transport) -> None:
        self._near = near

    def data_received(self, data: bytes) -> None:
        self._near.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._near.close()
