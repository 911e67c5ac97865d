"""The composition root: where the real clock, the real disk and the store meet a node. Nowhere else are they chosen."""

from collections.abc import Iterable

from headrace.base.disk import RealDisk
from headrace.base.errors import DiskFull, StoreUnreachable, UserError
from headrace.base.system_clock import SystemClock
from headrace.broker.disk.syncs import RealSyncs
from headrace.broker.node import Node, NodeSettings
from headrace.broker.upkeep.clean_process import CleanProcess
from headrace.cli.run.open_network import Door, require_safe
from headrace.cli.run.preflight import require_port
from headrace.cli.run.serve_options import ServeOptions
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.listeners import PlannedListener, plan_listeners
from headrace.stores.open import open_store

EVERYWHERE = "0.0.0.0"


async def start_node(options: ServeOptions) -> Node:
    """Serving when it returns; the node closes the store when it stops."""
    listeners = _listeners(options)
    if not options.allow_insecure_network:
        require_safe(_doors(options, listeners))
    for each in listeners:
        option = "--set listeners=…" if "listeners" in options.settings else "--port"
        require_port(each.host or EVERYWHERE, each.port, option)
    require_port(options.host, options.metrics_port, "--metrics-port")
    clock = SystemClock()
    try:
        store = await open_store(options.store_path, clock)
        try:
            node = Node(
                _settings(options),
                disk=RealDisk(),
                clock=clock,
                store=store,
                begin_cleaning=CleanProcess,
                open_syncs=RealSyncs,
            )
            await node.start()
        except BaseException:
            await store.close()
            raise
    except (StoreUnreachable, DiskFull) as error:
        raise UserError(
            f"cannot start: {error}", "Free space, or see to the metadata store, and start again."
        ) from error
    return node


def _doors(options: ServeOptions, listeners: Iterable[PlannedListener]) -> list[Door]:
    config = BrokerConfig(options.settings)
    return [
        Door(
            each.name,
            each.protocol,
            each.host,
            each.port,
            config.of_listener(each.name, "ssl.client.auth") == "required",
        )
        for each in listeners
    ]


def _listeners(options: ServeOptions) -> tuple[PlannedListener, ...]:
    config = BrokerConfig(options.settings)
    return plan_listeners(config, options.host, options.port, options.advertised_host or None).listeners


def _settings(options: ServeOptions) -> NodeSettings:
    return NodeSettings(
        broker_id=options.id,
        data=options.broker_data,
        host=options.host,
        port=options.port,
        advertised_host=options.advertised_host or None,
        metrics_port=options.metrics_port,
        rack=options.rack or None,
        overrides=options.settings,
    )
