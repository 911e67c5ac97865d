"""The listeners of a plan, put together with what they share: counts, descriptors, buffers, threads that read."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection import Dispatcher
from headrace.broker.net.connection_limits import KEPT_FOR_BROKERS, ConnectionCount, SocketBuffers, connection_limits
from headrace.broker.net.descriptors import Descriptors
from headrace.broker.net.listener import Listener, Shared
from headrace.broker.net.listeners import Listeners
from headrace.broker.security.rights import Rights
from headrace.broker.security.tls import ListenerTls
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.listeners import ListenerPlan


class ListenerParts(NamedTuple):
    """The parts of a broker that every listener takes."""

    dispatcher: Dispatcher
    rights_of: Callable[[str, str], Rights]
    probes: Probes
    readers: Executor
    on_disk_failed: Callable[[DiskFailed], None]


def open_listeners(
    plan: ListenerPlan,
    config: BrokerConfig,
    tls: Mapping[str, ListenerTls],
    descriptors: Descriptors,
    parts: ListenerParts,
) -> Listeners:
    """All of a plan, without an address yet."""
    count = ConnectionCount(descriptors)
    count.kept = min(KEPT_FOR_BROKERS, descriptors.left // 4) if plan.is_apart else 0
    buffer_bytes_max = config.number("queued.max.request.bytes")
    clients_budget = Budget(buffer_bytes_max)
    shared = Shared(
        loop=asyncio.get_running_loop(),
        dispatcher=parts.dispatcher,
        probes=parts.probes,
        readers=parts.readers,
        on_disk_failed=parts.on_disk_failed,
        counted=count,
        frame_bytes_max=config.number("socket.request.max.bytes"),
        rights_of=parts.rights_of,
        socket_buffers=_socket_buffers(config),
    )
    opened = []
    for each in plan.listeners:
        for_brokers = plan.is_apart and each.name == plan.between_brokers
        budget = Budget(buffer_bytes_max) if for_brokers else clients_budget
        limits = connection_limits(config, each.name)
        opened.append(Listener(each, shared, budget, limits, tls.get(each.name), for_brokers))
    return Listeners(plan, opened, count, parts.on_disk_failed)


def _socket_buffers(config: BrokerConfig) -> SocketBuffers:
    return SocketBuffers(
        config.number("socket.send.buffer.bytes"),
        config.number("socket.receive.buffer.bytes"),
        config.number("socket.listen.backlog.size"),
    )
