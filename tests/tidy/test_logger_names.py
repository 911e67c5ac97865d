"""A logger is called `logger`: `log` is a log, in a system of logs."""

import ast
from collections.abc import Iterator

import imports


def logger_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("logging.getLogger("):
            yield from map(ast.unparse, node.targets)


def test_loggers_are_called_logger() -> None:
    assert [name for name, tree in imports.modules().items() if {*logger_names(tree)} - {"logger"}] == []


def test_the_rule_bites() -> None:
    assert [*logger_names(ast.parse("import logging\nlog = logging.getLogger('x')\nx = f()"))] == ["log"]
