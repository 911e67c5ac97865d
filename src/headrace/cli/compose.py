"""The composition root: where the real clock, the real disk and the store meet a node. Nowhere else are they chosen."""

from headrace.base.disk import RealDisk
from headrace.base.errors import DiskFull, StoreUnreachable, UserError
from headrace.base.system_clock import SystemClock
from headrace.broker.disk.syncs import RealSyncs
from headrace.broker.node import Node, NodeSettings
from headrace.broker.upkeep.clean_process import CleanProcess
from headrace.cli.open_network import Door, require_safe
from headrace.cli.preflight import require_port
from headrace.cli.serve_options import ServeOptions
from headrace.stores.open import open_store


async def start_node(options: ServeOptions) -> Node:
    """Serving when it returns; the node closes the store when it stops."""
    if not options.allow_insecure_network:
        require_safe(_doors(options))
    require_port(options.host, options.port)
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


def _doors(options: ServeOptions) -> list[Door]:
    return [Door("PLAINTEXT", "PLAINTEXT", options.host, options.port)]


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
