"""One name, one value: a public constant that is a number has the same value in every module that declares it."""

import ast
from collections import defaultdict

import imports
from shrinking import hold_counts

ALLOWED = {
    "AGAIN_SECONDS": 2,
    "AGAIN_SECONDS_MAX": 2,
    "AGE_SECONDS_MAX": 2,
    "ANSWER_SECONDS_MAX": 3,
    "ASK_SECONDS": 2,
    "ASK_SECONDS_MAX": 2,
    "BATCH_BYTES_MAX": 2,
    "BATCH_ROWS": 4,
    "CLOSE_SECONDS_MAX": 3,
    "CONNECT_SECONDS_MAX": 3,
    "EPOCH_MAX": 2,
    "FILES_MAX": 2,
    "FILES_MIN": 2,
    "FILE_BYTES": 3,
    "FIRST_PAUSE_SECONDS": 2,
    "KNOWN_MAX": 2,
    "KNOWN_SECONDS": 2,
    "LENGTH_MAX": 2,
    "LINGER_SECONDS": 2,
    "LOOK_SECONDS": 4,
    "PARTITIONS_MAX": 2,
    "PARTITIONS_PER_TURN": 2,
    "PAUSE_SECONDS_MAX": 3,
    "PER_TURN": 3,
    "POLL_SECONDS": 2,
    "READ_SECONDS_MAX": 2,
    "REQUEST_SECONDS_MAX": 3,
    "RETRY_SECONDS": 3,
    "ROWS_MAX": 2,
    "SECONDS_MAX": 6,
    "SECONDS_MIN": 2,
    "START_SECONDS_MAX": 2,
    "STOP_SECONDS_MAX": 4,
    "SWEEP_SECONDS": 2,
    "THREADS": 2,
    "TIMESTAMP_MAX": 2,
    "UNLIMITED": 2,
    "VALUE_VERSION": 3,
    "VERSION": 4,
    "WAIT_MS": 2,
    "WAIT_SECONDS_MAX": 2,
    "WINDOW_BYTES": 2,
}


def values(modules: dict[str, ast.Module]) -> dict[str, int]:
    """How many values each name has, for names that have several."""
    found: dict[str, set[float]] = defaultdict(set)
    for tree in modules.values():
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                (target,) = node.targets[:1] if isinstance(node, ast.Assign) else [node.target]
                if isinstance(target, ast.Name) and target.id.isupper() and not target.id.startswith("_"):
                    found[target.id] |= _number(node.value)
    return {name: len(each) for name, each in found.items() if len(each) > 1}


def _number(node: ast.expr) -> set[float]:
    """The value of an expression of numbers alone."""
    if any(isinstance(each, ast.Name | ast.Call | ast.Attribute) for each in ast.walk(node)):
        return set()
    value = eval(compile(ast.Expression(node), "constant", "eval"))
    return {value} if isinstance(value, int | float) else set()


def test_no_constant_has_two_values() -> None:
    hold_counts(values(imports.modules()), ALLOWED, "say in the name what tells it from the other one")


def test_the_rule_bites() -> None:
    first, second = ast.parse("A = 60 * 2\nB: int = 1\n_C = 1\nD = f()"), ast.parse("A = 1 << 7\nB = 1\n_C = 2\nD = 3")
    assert values({"m": first, "n": second}) == {"A": 2}
