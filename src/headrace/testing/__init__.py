"""A real broker for tests: `with Broker() as broker: …`, or the pytest fixtures of `headrace.testing.plugin`.

Importing this costs nothing: pytest loads the plugin in every project where Headrace is installed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing.broker import Broker as Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from headrace.testing.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
