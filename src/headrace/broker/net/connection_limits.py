"""Settings of connections: how many, how long they may be silent, and the kernel's buffers for them."""

import socket
from typing import NamedTuple, TypedDict

from headrace.cluster.broker_config import BrokerConfig


class ConnectionLimits(TypedDict):
    connections_max: int
    connections_per_ip_max: int
    idle_seconds_max: float


def connection_limits(config: BrokerConfig) -> ConnectionLimits:
    """The limits that can change while the broker runs."""
    return {
        "connections_max": config.number("max.connections"),
        "connections_per_ip_max": config.number("max.connections.per.ip"),
        "idle_seconds_max": config.number("connections.max.idle.ms") / 1000,
    }


class SocketBuffers(NamedTuple):
    """-1 leaves them to the kernel."""

    send_bytes: int = -1
    receive_bytes: int = -1

    def apply(self, connection: socket.socket) -> None:
        for option, size in ((socket.SO_SNDBUF, self.send_bytes), (socket.SO_RCVBUF, self.receive_bytes)):
            if size > 0:
                connection.setsockopt(socket.SOL_SOCKET, option, size)


KERNELS_CHOICE = SocketBuffers()
