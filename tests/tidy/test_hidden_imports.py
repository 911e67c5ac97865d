"""Imports of ours for type checkers only hide a cycle, or spare a start: both are listed, and neither list grows.

A part of the broker is given what it uses. Those that take the whole `Broker` close a cycle with it.
"""

import ast

import imports
from shrinking import hold

TAKE_THE_BROKER = {
    "headrace.broker.coordinators.group",
    "headrace.broker.coordinators.groups",
    "headrace.broker.coordinators.markers",
    "headrace.broker.coordinators.transaction",
    "headrace.broker.coordinators.transactions",
    "headrace.broker.handlers.fetch",
    "headrace.broker.handlers.metadata",
    "headrace.broker.handlers.produce",
    "headrace.broker.handlers.topics",
    "headrace.broker.membership.membership",
    "headrace.broker.metrics.health",
    "headrace.broker.metrics.server",
    "headrace.broker.net.dispatch",
    "headrace.broker.replication.fetcher",
    "headrace.broker.replication.fetchers",
    "headrace.broker.replication.rot",
    "headrace.broker.upkeep.janitor",
}
LOADED_LATER = {
    "headrace.cli.webhook",
    "headrace",
    "headrace.cli.cluster.commands",
    "headrace.cli.messages.consume",
    "headrace.cli.log.commands",
    "headrace.cli.pipeline",
    "headrace.cli.topic.commands",
    "headrace.cli.txn",
    "headrace.cli.security.user",
    "headrace.pipelines.traffic_picture",
    "headrace.spark",
    "headrace.spark.datasource",
    "headrace.testing",
    "headrace.testing.plugin",
}


def hides_imports(module: str, tree: ast.Module) -> bool:
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return any(name.startswith("headrace") for node in guarded for name in imports.imported(module, ast.walk(node)))


def test_no_import_is_hidden() -> None:
    found = {name for name, tree in imports.modules().items() if hides_imports(name, tree)}
    hold(found, TAKE_THE_BROKER | LOADED_LATER, "give it what it uses, or a protocol, so that it can import it")


def test_the_rule_bites() -> None:
    hidden = ast.parse("if TYPE_CHECKING:\n    from headrace.broker.broker import Broker")
    open_, others = (
        ast.parse("from headrace.broker.broker import Broker"),
        ast.parse("if TYPE_CHECKING:\n    import ssl"),
    )
    assert [hides_imports("m", each) for each in (hidden, open_, others)] == [True, False, False]
