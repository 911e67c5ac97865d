"""A listening address, its protocol, and the connections that came in on it: who may come, and what they are given."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Final, NamedTuple, Protocol

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.base.settings import INT_MAX
from headrace.broker.net.acceptor import Acceptor, ArrivalPlaces
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection import Connection, Dispatcher
from headrace.broker.net.connection_limits import KERNELS_CHOICE, ConnectionCount, ConnectionLimits, SocketBuffers
from headrace.broker.net.outbox import Outbox, TransportOutbox
from headrace.broker.net.socket_outbox import SocketOutbox
from headrace.broker.net.sweep import sweep, take_back
from headrace.broker.net.tls_outbox import TlsOutbox
from headrace.broker.security.certificates import NoPrincipal
from headrace.broker.security.rights import ANONYMOUS, Rights, every_right
from headrace.broker.security.tls import ListenerTls
from headrace.cluster.listeners import PlannedListener

RECLAIM_SECONDS: Final = 0.01


class Gates(Protocol):
    """Puts a gate between a connection and the listener's dispatcher, until somebody has logged in."""

    def stand_before(self, connection: Connection) -> None: ...


class Shared(NamedTuple):
    """The parts that all listeners of a broker have in common."""

    loop: asyncio.AbstractEventLoop
    dispatcher: Dispatcher
    probes: Probes
    readers: Executor
    on_disk_failed: Callable[[DiskFailed], None]
    counted: ConnectionCount
    frame_bytes_max: int
    rights_of: Callable[[str, str], Rights] = every_right
    """The rights of a principal that comes from an address."""
    socket_buffers: SocketBuffers = KERNELS_CHOICE


class Listener:
    gates: Gates | None = None
    """Stand where a login is asked for."""

    def __init__(
        self,
        plan: PlannedListener,
        shared: Shared,
        budget: Budget,
        limits: ConnectionLimits,
        tls: ListenerTls | None = None,
        for_brokers: bool = False,
    ) -> None:
        """`for_brokers`: clients have another."""
        self.plan = plan
        self.for_brokers = for_brokers
        self.budget = budget
        self.loop = shared.loop
        self.dispatcher = shared.dispatcher
        self.probes = shared.probes
        self.frame_bytes_max = shared.frame_bytes_max
        self.on_disk_failed = shared.on_disk_failed
        self.rights_of = shared.rights_of
        # Ordered: whom a stop closes first must not depend on addresses, or no simulation could be replayed.
        self.connections: dict[Connection, None] = {}
        self.is_draining = False
        self.addresses: list[tuple[str, int]] = []
        self._shared = shared
        self._limits = limits
        self._tls = tls
        self._reclaiming = False
        self._server: asyncio.Server | Acceptor | None = None

    async def bind(self) -> int:
        """Take the address, without answering yet; the port that it became."""
        host, port, backlog = self.plan.host or None, self.plan.port, self._shared.socket_buffers.backlog
        if self._tls is None and self._limits.creation_rate_max == INT_MAX:
            self._server = await self.loop.create_server(
                lambda: Connection(self), host, port, backlog=backlog, start_serving=False
            )
        else:
            self._server = self._acceptor(backlog)
            self._server.bind(host, port)
        self.addresses = [each.getsockname()[:2] for each in self._server.sockets]
        return self.addresses[0][1]

    def _acceptor(self, backlog: int) -> Acceptor:
        count = self._shared.counted
        places = ArrivalPlaces(partial(count.take_descriptor, self.for_brokers), count.descriptors.give_back)
        rate_max = self._limits.creation_rate_max
        return Acceptor(self.loop, lambda: Connection(self), self._tls, rate_max, self.probes, places, backlog)

    def set_limits(self, limits: ConnectionLimits) -> None:
        """Applies to new connections only."""
        self._limits = limits

    async def serve(self) -> None:
        assert self._server is not None, "bind first"
        await self._server.start_serving()

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()

    def stop_reading(self) -> None:
        """Take no more requests; replies still leave."""
        self.is_draining = True
        for connection in self.connections:
            connection.set_reading()

    def close_connections(self) -> None:
        for connection in list(self.connections):
            connection.close()

    # -- what a connection asks for ------------------------------------------------------------------------------

    def open_outbox(self, transport: asyncio.Transport, on_drained: Callable[[], None]) -> Outbox:
        loop, _, probes, readers, on_disk_failed, count, *_ = self._shared
        plain = transport.get_extra_info("socket")
        if plain is not None:
            self._shared.socket_buffers.apply(plain)
        if self._tls is not None:
            return TlsOutbox(transport, loop, readers, probes, on_drained, on_disk_failed)
        if plain is None or not hasattr(os, "sendfile"):
            return TransportOutbox(transport, probes)
        return SocketOutbox(transport, loop, readers, probes, count.descriptors, on_drained, on_disk_failed)

    def on_open(self, connection: Connection) -> None:
        self.probes.connections_accepted += 1
        cause = self._shared.counted.enter(connection.ip, self._limits, len(self.connections), self.for_brokers)
        if cause:
            self.probes.connections_refused += 1
            connection.close_because(cause)
            return
        self.connections[connection] = None
        self.probes.connections_open += 1
        if self.gates is not None:
            self.gates.stand_before(connection)
        self._sign_in_by_certificate(connection)

    def _sign_in_by_certificate(self, connection: Connection) -> None:
        """Signs in by the certificate that was shown, if one was, and nobody has to log in."""
        if self._tls is None or self.plan.has_sasl or connection.transport is None:
            return
        try:
            principal = self._tls.principal_of(connection.transport.get_extra_info("ssl_object"))
        except NoPrincipal as error:
            connection.close_bad_peer(str(error))
            return
        if principal != ANONYMOUS:
            connection.sign_in(principal)

    @property
    def certificate_expires_at(self) -> float | None:
        """The end of our certificate in seconds since 1970; None without TLS."""
        return None if self._tls is None else self._tls.expires_at

    def on_closed(self, connection: Connection) -> None:
        if connection in self.connections:
            del self.connections[connection]
            self._shared.counted.leave(connection.ip, self.for_brokers)
            self.probes.connections_open -= 1

    # -- upkeep --------------------------------------------------------------------------------------------------

    def reclaim(self) -> None:
        """Takes back buffers that are not in use, soon: a connection waits for space."""
        if not self._reclaiming:
            self._reclaiming = True
            self.loop.call_later(RECLAIM_SECONDS, self._reclaim)

    def _reclaim(self) -> None:
        self._reclaiming = False
        take_back(list(self.connections), self.loop.time())

    def sweep(self) -> None:
        sweep(list(self.connections), self.loop.time(), self._limits.idle_seconds_max)
