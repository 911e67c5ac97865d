"""Settings of connections: how many, how long they may be silent, and the kernel's buffers for them.

    ConnectionCount    counts over all listeners of a broker, which ask it whether one more may come in

Where brokers have a listener apart from clients', the limits of the broker and of addresses do not hold for it, and some
descriptors are left for it: clients cannot shut other brokers out.
"""

import socket
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from headrace.base.settings import INT_MAX
from headrace.broker.net.descriptors import Descriptors
from headrace.cluster.broker_config import BrokerConfig

# So many descriptors are left for other brokers when clients have taken all they may.
KEPT_FOR_BROKERS: Final = 200
_NO_OVERRIDES: Final[Mapping[str, int]] = {}


class ConnectionLimits(NamedTuple):
    """The limits that can change while the broker runs."""

    broker_max: int
    listener_max: int
    per_ip_max: int
    idle_seconds_max: float
    per_ip_overrides: Mapping[str, int] = _NO_OVERRIDES
    creation_rate_max: int = INT_MAX
    """New connections a second; read once, when the listener opens."""

    def of_address(self, ip: str) -> int:
        return self.per_ip_overrides.get(ip, self.per_ip_max)


def connection_limits(config: BrokerConfig, listener: str) -> ConnectionLimits:
    of_listener, overrides = (
        config.of_listener(listener, "max.connections"),
        config.value("max.connections.per.ip.overrides"),
    )
    rate = config.of_listener(listener, "max.connection.creation.rate")
    assert isinstance(of_listener, int) and isinstance(overrides, tuple) and isinstance(rate, int)
    pairs = (each.rpartition(":") for each in overrides)
    return ConnectionLimits(
        config.number("max.connections"),
        of_listener,
        config.number("max.connections.per.ip"),
        config.number("connections.max.idle.ms") / 1000,
        {ip: int(count) for ip, _, count in pairs},
        rate,
    )


class ConnectionCount:
    def __init__(self, descriptors: Descriptors) -> None:
        self.descriptors = descriptors
        self.kept = 0
        """Descriptors that only other brokers may take."""
        self.make_room: Callable[[], bool] = lambda: False
        """Ends the client's connection that was silent longest; False if there is none."""
        self._open = 0
        self._of_address: dict[str, int] = {}

    def enter(self, ip: str, limits: ConnectionLimits, open_here: int, for_brokers: bool) -> str:
        """Counts a connection in; otherwise says why it may not come, and counts nothing."""
        cause = self._refusal(ip, limits, open_here, for_brokers)
        if cause:
            return cause
        self._open += 1
        if not for_brokers:
            self._of_address[ip] = self._of_address.get(ip, 0) + 1
        return ""

    def _refusal(self, ip: str, limits: ConnectionLimits, open_here: int, for_brokers: bool) -> str:
        if open_here >= limits.listener_max:
            return "max.connections is reached"
        if self._open >= limits.broker_max and not (for_brokers and self.make_room()):
            return "max.connections is reached"
        if not for_brokers and self._of_address.get(ip, 0) >= limits.of_address(ip):
            return "max.connections.per.ip is reached"
        if not self.take_descriptor(for_brokers):
            return "no descriptors are left (ulimit -n)"
        return ""

    def take_descriptor(self, for_brokers: bool) -> bool:
        """Takes one, also for who is not through the handshake yet: a client never one of those that are kept."""
        return (for_brokers or self.descriptors.left > self.kept) and self.descriptors.take()

    def leave(self, ip: str, for_brokers: bool) -> None:
        self._open -= 1
        self.descriptors.give_back()
        if for_brokers:
            return
        self._of_address[ip] -= 1
        if not self._of_address[ip]:
            del self._of_address[ip]


class SocketBuffers(NamedTuple):
    """Sizes of the kernel's buffers; -1 leaves them to it."""

    send_bytes: int = -1
    receive_bytes: int = -1
    backlog: int = 1024
    """Connections that it holds until they are accepted."""

    def apply(self, connection: socket.socket) -> None:
        for option, size in ((socket.SO_SNDBUF, self.send_bytes), (socket.SO_RCVBUF, self.receive_bytes)):
            if size > 0:
                connection.setsockopt(socket.SOL_SOCKET, option, size)


KERNELS_CHOICE = SocketBuffers()
