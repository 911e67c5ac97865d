"""Every call of a logger in src/ names its values, so that a value that a message shows is a field of the JSON line too.

    logger.warning("%(topic)s cannot be read: %(cause)s", {"topic": topic, "cause": error})

The rule: a literal message without positional values, and one dict with all that it shows. What the fields are called is a
closed list: the table in docs/monitoring.md. So a value cannot be formatted in any other way, nor under a second name. A
line about a partition also has its topic and leader epoch, one about a client what it asked for.
"""

import ast
import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headrace"
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
SHOWN = re.compile(r"%\((\w+)\)")
LOGS = re.compile(rf"\b(logger|logging)\.({'|'.join(LEVELS)})\(")
POSITIONAL = re.compile(r"%(?![(%])")
# What the dict of a partition's name holds.
SPREAD = {"_asdict": {"topic", "partition"}}
# A line that has the first has the others too: without them it says too little to be looked for.
TOGETHER = {"partition": {"topic", "epoch"}, "peer": {"request"}}
OTHER_BROKERS = {"leader_id", "controller_id"}


class Call(NamedTuple):
    place: str
    node: ast.Call
    scope: ast.AST
    """The function that it stands in, which may give its dict a name first."""


def calls_in(text: str, place: str) -> Iterator[Call]:
    tree = ast.parse(text)
    loggers = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _ends(node.value, "getLogger")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    # A module may take another's logger.
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    loggers |= {alias.name for node in imports for alias in node.names if alias.name == "logger"}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in LEVELS:
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id in loggers:
            around = [each for each in functions if each.lineno <= node.lineno <= (each.end_lineno or 0)]
            yield Call(f"{place}:{node.lineno}", node, max(around, key=lambda each: each.lineno, default=tree))


def faults(call: Call, known: set[str]) -> Iterator[str]:
    message, *values = call.node.args
    if not isinstance(message, ast.Constant) or not isinstance(message.value, str):
        yield "its message is no literal: values belong into the dict"
        return
    if POSITIONAL.search(message.value):
        yield "it shows a value without a name: write %(name)s"
    if any(keyword.arg == "extra" for keyword in call.node.keywords) or len(values) > 1:
        yield "its values are not in one dict"
        return
    fields = set(_fields(values[0], call.scope)) if values else set()
    for name in sorted(set(SHOWN.findall(message.value)) - fields):
        yield f"it shows {name}, which the dict lacks"
    for name in sorted(fields - known):
        yield f"{name} is no field of docs/monitoring.md"
    for name, others in TOGETHER.items():
        if name in fields:
            yield from (f"it has {name} and not {other}" for other in sorted(others - fields))


def _fields(value: ast.expr, scope: ast.AST) -> Iterator[str]:
    """The keys of a dict: written there, given a name in the same function, or those of a NamedTuple."""
    if isinstance(value, ast.Name):
        written = [
            node.value
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign) and any(_is(target, value.id) for target in node.targets)
        ]
        for each in written:
            yield from _fields(each, scope)
        if not written:
            yield f"<{value.id}: not written in this function>"
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in SPREAD:
        yield from SPREAD[value.func.attr]
    elif isinstance(value, ast.Dict):
        for key, each in zip(value.keys, value.values, strict=True):
            if key is None:
                yield from _fields(each, scope)
            elif isinstance(key, ast.Constant):
                yield key.value
            if isinstance(key, ast.Constant) and key.value == "broker" and _ends(each, *OTHER_BROKERS):
                yield "<broker: always the one that writes the line; others are leader or other_broker>"
    else:
        yield f"<{ast.unparse(value)}>"


def _ends(node: ast.expr, *names: str) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr in names


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def documented() -> set[str]:
    text = (ROOT / "docs" / "monitoring.md").read_text()
    section = text.split("\n## Log lines\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


@cache
def sources() -> dict[str, str]:
    """Of the modules that log."""
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    return {place: text for place, text in texts.items() if LOGS.search(text)}


@cache
def all_calls() -> list[Call]:
    return [call for place, text in sources().items() for call in calls_in(text, place)]


def test_every_value_of_a_log_line_is_a_field_with_a_documented_name() -> None:
    known, calls = documented(), all_calls()
    assert len(calls) > 80
    assert [f"{call.place}: {fault}" for call in calls for fault in faults(call, known)] == []


def test_no_field_is_documented_that_nobody_writes() -> None:
    written = {name for call in all_calls() if call.node.args[1:] for name in _fields(call.node.args[1], call.scope)}
    # A log file says itself how many lines it dropped.
    assert documented() - written == {"lines"}


def test_no_module_logs_around_its_logger() -> None:
    """`logging.warning(…)` and `print` to stderr would be lines without fields."""
    assert [place for place, text in sources().items() if re.search(rf"\blogging\.({'|'.join(LEVELS)})\(", text)] == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('logger.info("%s is gone", topic)', "without a name"),
        ('logger.info(f"{topic} is gone")', "no literal"),
        ('logger.info("gone", extra={"topic": topic})', "not in one dict"),
        ('logger.info("%(topic)s is gone")', "it shows topic"),
        ('logger.info("%(topic)s is gone", {"cause": 1})', "it shows topic"),
        ('logger.info("gone", {"subject": topic})', "no field of"),
        ('logger.info("gone", {**id._asdict(), "cause": 1})', "it has partition and not epoch"),
        ('logger.info("gone", {"peer": address})', "it has peer and not request"),
        ('logger.info("gone", {"broker": self.leader_id})', "always the one that writes"),
        ('fields = {"subject": 1}; logger.info("gone", fields)', "no field of"),
        ('logger.info("gone", fields)', "not written"),
    ],
)
def test_the_rule_bites(line: str, fault: str) -> None:
    (call,) = calls_in(f"logger = logging.getLogger('x')\ndef f():\n    {line}", "x.py")
    assert fault in ", ".join(faults(call, {"topic", "cause", "broker"}))


def test_such_a_line_is_what_logging_takes() -> None:
    record = logging.makeLogRecord({"msg": "%(topic)s-%(partition)d: %(cause)s"})
    record.args = {"topic": "orders", "partition": 3, "cause": OSError("x"), "epoch": 5}
    assert record.getMessage() == "orders-3: x"
