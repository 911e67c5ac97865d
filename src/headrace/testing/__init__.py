"""Real brokers for tests: `with Broker() as broker: …`, `with Cluster(3) as cluster: …`, or the pytest fixtures of
`headrace.testing.plugin`.

Importing this costs nothing: pytest loads the plugin in every project where Headrace is installed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing.broker import Broker as Broker
    from headrace.testing.cluster import Cluster as Cluster

__all__ = ["Broker", "Cluster"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from headrace.testing.broker import Broker

        return Broker
    if name == "Cluster":
        from headrace.testing.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
