"""A listener with TLS on an event loop of the test: it answers each frame, and shows who its connections are."""

import asyncio
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import uvloop
from tls_world import HOST, Certificates

from headrace.base.probe import Probes
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection import Connection
from headrace.broker.net.connection_limits import ConnectionCount, ConnectionLimits
from headrace.broker.net.descriptors import Descriptors
from headrace.broker.net.listener import Listener, Shared
from headrace.broker.net.outbox import Chunk
from headrace.broker.security.tls import ListenerTls
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.listeners import PlannedListener

PLAN = PlannedListener("TLS", "SSL", HOST, 0, None)
LIMITS = ConnectionLimits(broker_max=100_000, listener_max=100_000, per_ip_max=100_000, idle_seconds_max=600.0)
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class TlsDoor:
    def __init__(self, certificates: Certificates, **settings: str) -> None:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        # Replaced by a test that changes them.
        self.settings = {
            "ssl.keystore.location": certificates.broker("door"),
            "ssl.truststore.location": certificates.ca,
            **given,
        }
        self.certificates = certificates
        self.tls = ListenerTls(PLAN, lambda: BrokerConfig(self.settings), False)
        self.probes = Probes()
        self.descriptors = Descriptors(200_000)
        self.count = ConnectionCount(self.descriptors)
        self.reply: Callable[[memoryview], list[Chunk]] = lambda frame: [bytes(frame)]
        self.port = 0
        self._threads = ThreadPoolExecutor(1)

    async def __aenter__(self) -> "TlsDoor":
        loop = asyncio.get_running_loop()
        shared = Shared(loop, self, self.probes, self._threads, self._on_disk_failed, self.count, 1 << 20)
        self.listener = Listener(PLAN, shared, Budget(1 << 24), LIMITS, self.tls)
        self.port = await self.listener.bind()
        await self.listener.serve()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.listener.stop_accepting()
        self.listener.close_connections()
        self._threads.shutdown()
        # Transports close in a later turn.
        for _ in range(5):
            await asyncio.sleep(0)

    def dispatch(self, connection: Connection, frame: memoryview) -> None:
        connection.requests.reply(self.reply(frame))

    def _on_disk_failed(self, error: Exception) -> None:
        raise AssertionError(error)

    @property
    def principals(self) -> list[str]:
        return [each.principal for each in self.listener.connections]

    async def connect(self, certificate: str = "", **options: Any) -> "Caller":
        context = options.pop("context", None) or self.certificates.context(certificate)
        return Caller(*await asyncio.open_connection(HOST, self.port, ssl=context, server_hostname="localhost"))


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, content: bytes) -> bytes:
        self.writer.write(struct.pack(">i", len(content)) + content)
        return await asyncio.wait_for(self.reader.readexactly(len(content)), 20)

    @property
    def serial(self) -> str:
        return self.writer.get_extra_info("ssl_object").getpeercert()["serialNumber"]

    def close(self) -> None:
        self.writer.transport.abort()
