"""A logger is called `logger`: `log` is a log, in a system of logs."""

import ast
from collections.abc import Iterator

import imports
from shrinking import hold

ALLOWED = {
    "headrace.broker.broker",
    "headrace.broker.cleaner",
    "headrace.broker.controller",
    "headrace.broker.credible_time",
    "headrace.broker.disk_room",
    "headrace.broker.fetcher",
    "headrace.broker.hand_over",
    "headrace.broker.hung_peers",
    "headrace.broker.isr_keeper",
    "headrace.broker.janitor",
    "headrace.broker.listener",
    "headrace.broker.logged_coordinator",
    "headrace.broker.loop_lag",
    "headrace.broker.membership",
    "headrace.broker.metadata",
    "headrace.broker.node",
    "headrace.broker.outbox",
    "headrace.broker.partitions",
    "headrace.broker.retention",
}


def logger_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("logging.getLogger("):
            yield from map(ast.unparse, node.targets)


def test_loggers_are_called_logger() -> None:
    found = {name for name, tree in imports.modules().items() if {*logger_names(tree)} - {"logger"}}
    hold(found, ALLOWED, "call it `logger`")


def test_the_rule_bites() -> None:
    assert [*logger_names(ast.parse("import logging\nlog = logging.getLogger('x')\nx = f()"))] == ["log"]
