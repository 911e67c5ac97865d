"""All listeners of a broker as one: opened, served, drained and closed together.

They share counts, descriptors and one budget of buffers. The one for brokers, where clients have another, has a budget of
its own, so that clients cannot keep replication waiting.
"""

import logging
from collections.abc import Callable, Iterator, Sequence

from headrace.base.errors import DiskFailed
from headrace.broker.net.connection import Connection
from headrace.broker.net.connection_limits import ConnectionCount, connection_limits
from headrace.broker.net.listener import Listener
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import BrokerEndpoint
from headrace.cluster.listeners import ListenerPlan

logger = logging.getLogger("headrace.listener")


class Listeners:
    def __init__(
        self,
        plan: ListenerPlan,
        listeners: Sequence[Listener],
        count: ConnectionCount,
        on_disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        self.plan = plan
        self.on_disk_failed = on_disk_failed
        self.endpoints: tuple[BrokerEndpoint, ...] = ()
        """The addresses that clients are told, from `bind` on."""
        self._listeners = listeners
        count.make_room = self._close_most_silent

    def __iter__(self) -> Iterator[Listener]:
        return iter(self._listeners)

    @property
    def names(self) -> list[str]:
        return [each.plan.name for each in self._listeners]

    @property
    def addresses(self) -> list[tuple[str, str, int]]:
        """Name, host and port of every socket."""
        return [(each.plan.name, host, port) for each in self._listeners for host, port in each.addresses]

    @property
    def connections(self) -> list[Connection]:
        return [connection for each in self._listeners for connection in each.connections]

    @property
    def is_draining(self) -> bool:
        return any(each.is_draining for each in self._listeners)

    async def bind(self) -> int:
        """Takes all addresses, without answering yet; the port of the first."""
        endpoints = []
        for each in self._listeners:
            endpoint = each.plan.endpoint(await each.bind())
            if endpoint is not None:
                endpoints.append(endpoint)
        self.endpoints = tuple(endpoints)
        return self._listeners[0].addresses[0][1]

    @property
    def for_brokers(self) -> BrokerEndpoint:
        """The address that other brokers call."""
        return next(each for each in self.endpoints if each.listener == self.plan.between_brokers)

    async def serve(self) -> None:
        for each in self._listeners:
            await each.serve()
            for host, port in () if self.plan.is_plain else each.addresses:
                fields = {"listener": each.plan.name, "protocol": each.plan.protocol, "host": host, "port": port}
                logger.info("listener %(listener)s (%(protocol)s) is on %(host)s:%(port)d", fields)

    def set_limits(self, config: BrokerConfig) -> None:
        for each in self._listeners:
            each.set_limits(connection_limits(config, each.plan.name))

    def sweep(self) -> None:
        for each in self._listeners:
            each.sweep()

    def stop_accepting(self) -> None:
        for each in self._listeners:
            each.stop_accepting()

    def stop_reading(self) -> None:
        for each in self._listeners:
            each.stop_reading()

    def close_connections(self) -> None:
        for each in self._listeners:
            each.close_connections()

    def _close_most_silent(self) -> bool:
        """Makes room for another broker at the cost of a client."""
        clients = [each for listener in self._listeners if not listener.for_brokers for each in listener.connections]
        if not clients:
            return False
        min(clients, key=lambda each: each.frames.last_received).close_because(
            "max.connections is reached by another broker's"
        )
        return True
