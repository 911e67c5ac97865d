"""Pages and docstrings name only functions, classes and modules that exist: `Log.truncate_to`, `broker.turn`.

A name between backticks is looked at if it begins with a class, a package or a module of ours, or is called. Texts that the
source holds as a string too are settings, metrics or fields of Kafka, and no code.
"""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import imports
from declared import Function, all_classes, all_functions
from documents import FENCE, pages, sources

NAMED = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(\([^`]*\))?`(?!`)")
TEXTS = re.compile(r"\"{3}[\s\S]*?\"{3}|(?:^ *|  )# .*", re.MULTILINE)
# Kafka's, Spark's, sarama's and re2's.
OF_OTHERS = {
    *("Producer.Idempotent", "broker.env", "fullmatch"),
    *("rand", "repartition", "replication.factor", "server.properties"),
}
FILES = {"css", "js", "json", "md", "py", "toml", "txt", "yml"}


@cache
def members() -> dict[str, set[str]]:
    """What the classes of one name declare, or are given by their own methods; with what they inherit from ours."""
    own: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for _, node in all_classes():
        own[node.name] |= set(_declared_by(node))
        bases[node.name] |= {ast.unparse(each).partition("[")[0].rpartition(".")[2] for each in node.bases}
    for _ in range(4):
        for name, above in bases.items():
            own[name] = own[name].union(*(own[each] for each in above if each in own))
    return dict(own)


def _declared_by(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, Function | ast.ClassDef):
            yield each.name
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self":
            yield each.attr
    for each in node.body:
        yield from _targets(each)


def _targets(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


@cache
def names_of(module: str) -> set[str]:
    body = imports.modules()[module].body
    declared = {each.name for each in body if isinstance(each, Function | ast.ClassDef)}
    return declared.union(*(_targets(each) for each in body))


@cache
def strings() -> set[str]:
    trees = imports.modules().values()
    return {word for tree in trees for each in ast.walk(tree) for word in _words(each)}


def _words(node: ast.AST) -> list[str]:
    return node.value.split() if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


@cache
def packages() -> set[str]:
    return {part for name in imports.modules() for part in name.split(".")[1:-1]}


@cache
def called() -> set[str]:
    """Whatever may be called by its bare name."""
    functions = {node.name for _, node in all_functions()} | {node.name for _, node in all_classes()}
    return functions | set(dir(builtins)) | {each for found in members().values() for each in found}


@cache
def is_known(name: str) -> bool:
    first, *rest = name.split(".")
    if not rest or rest[-1] in FILES or name in strings() | OF_OTHERS:
        return True
    if first in members():
        return rest[0] in members()[first]
    if first not in packages() and not _modules_called(first):
        return True
    return any(_is_in(module, name) for module in imports.modules()) or rest[-1] in called()


def _modules_called(end: str) -> list[str]:
    return [each for each in imports.modules() if each.endswith(f".{end}")]


def _is_in(module: str, name: str) -> bool:
    """Whether the name is this module's, or one of those that it declares."""
    parts = name.split(".")
    return any(
        f".{module}".endswith("." + ".".join(parts[:count])) and _declares(module, parts[count:])
        for count in range(len(parts), 0, -1)
    )


def _declares(module: str, rest: list[str]) -> bool:
    if not rest:
        return True
    return rest[0] in names_of(module) and (len(rest) == 1 or rest[1] in members().get(rest[0], {rest[1]}))


def lost(text: str) -> Iterator[str]:
    for name, call in NAMED.findall(text):
        if not is_known(name) or (call and "." not in name and name not in called() | OF_OTHERS):
            yield f"{name}{call}"


def test_pages_name_code_that_exists() -> None:
    found = {name: list(lost(FENCE.sub("", text))) for name, text in pages().items()}
    assert {name: each for name, each in found.items() if each} == {}


def test_docstrings_and_comments_name_code_that_exists() -> None:
    ours = {name: text for name, text in sources().items() if name.startswith("src/")}
    found = {name: [each for part in TEXTS.findall(text) for each in lost(part)] for name, text in ours.items()}
    assert {name: each for name, each in found.items() if each} == {}


def test_the_rule_bites() -> None:
    text = (
        "`Log.nothing`, `Log.truncate_to`, `broker.turns`, `broker.turn`, `no_such_thing(image)`, `log.dirs`, `re.sub`"
    )
    assert [*lost(text)] == ["Log.nothing", "broker.turns", "no_such_thing(image)"]
