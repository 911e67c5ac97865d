"""One name, one value: a public constant that is a number has the same value in every module that declares it."""

import ast
from collections import defaultdict

import imports
from shrinking import hold_counts

ALLOWED = {
    "AGAIN_SECONDS": 2,
    "ASK_SECONDS_MAX": 2,
    "CONNECT_SECONDS_MAX": 2,
    "EPOCH_MAX": 2,
    "FILES_MAX": 2,
    "LENGTH_MAX": 2,
    "LOOK_SECONDS": 2,
    "PARTITIONS_PER_TURN": 2,
    "PAUSE_SECONDS_MAX": 2,
    "PER_TURN": 3,
    "REQUEST_SECONDS_MAX": 2,
    "RETRY_SECONDS": 3,
    "SECONDS_MAX": 2,
    "SECONDS_MIN": 2,
    "UNLIMITED": 2,
    "VALUE_VERSION": 3,
    "VERSION": 4,
    "WAIT_SECONDS_MAX": 2,
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
