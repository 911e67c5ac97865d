"""The composition root: where the real clock, the real disk and the store meet a node. Nowhere else are they chosen."""

from headrace.base.clock import SystemClock
from headrace.base.disk import RealDisk
from headrace.broker.node import Node, NodeSettings
from headrace.cli.preflight import require_port
from headrace.cli.serve_options import ServeOptions
from headrace.stores.open import open_store


async def start_node(options: ServeOptions) -> Node:
    """Serving when it returns; the node closes the store when it stops."""
    require_port(options.host, options.port)
    require_port(options.host, options.metrics_port, "--metrics-port")
    clock = SystemClock()
    store = await open_store(options.store_path, clock)
    try:
        node = Node(_settings(options), disk=RealDisk(), clock=clock, store=store)
        await node.start()
    except BaseException:
        await store.close()
        raise
    return node


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
