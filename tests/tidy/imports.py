"""What each module of src/headrace imports, read from its text: nothing is run."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@cache
def files() -> dict[str, Path]:
    return {_name(path): path for path in sorted((SOURCE / "headrace").rglob("*.py"))}


@cache
def modules() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text()) for name, path in files().items()}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def loads(module: str) -> frozenset[str]:
    """Libraries that importing this module imports, through modules of ours too."""
    return _loads(module) - sys.stdlib_module_names


def loads_of_standard_library(module: str) -> frozenset[str]:
    return _loads(module) & sys.stdlib_module_names


@cache
def _loads(module: str) -> frozenset[str]:
    found, seen, waiting = set[str](), set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting += [parent for parent in _parents(name) if parent not in seen]
        for each in imported(name, _at_import(modules()[name].body)):
            if each.startswith("headrace"):
                waiting.append(each)
            else:
                found.add(each)
    return frozenset(found)


def may_use(module: str, with_optional: bool = False) -> frozenset[str]:
    """Libraries that this one file names, in functions too; not those for type checkers only, nor those it can miss."""
    nodes = _running(modules()[module].body, with_optional)
    named = {name for name in imported(module, nodes) if not name.startswith("headrace")}
    return frozenset(named - sys.stdlib_module_names)


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def imported(module: str, nodes: Iterator[ast.AST]) -> Iterator[str]:
    """The modules that these statements import: ours by their whole names, others by the first word."""
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module}:{node.lineno}: imports name their module"
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [node.module, *(each for each in below if each in modules())]
        for name in names:
            yield name if name.startswith("headrace") else name.partition(".")[0]


def _at_import(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What runs when the module is imported, and ends the import if it fails."""
    for node in body:
        if isinstance(node, ast.If) and not _is_for_checkers(node):
            yield from _at_import([*node.body, *node.orelse])
        elif isinstance(node, ast.ClassDef | ast.With) or (isinstance(node, ast.Try) and not _expects_absence(node)):
            yield from _at_import(node.body)
        else:
            yield node


def _running(body: list[ast.stmt], with_optional: bool) -> Iterator[ast.AST]:
    for node in body:
        if isinstance(node, ast.Try) and _expects_absence(node) and not with_optional:
            continue
        if not (isinstance(node, ast.If) and _is_for_checkers(node)):
            yield node
            for field in ("body", "orelse", "finalbody"):
                yield from _running(getattr(node, field, []), with_optional)
            for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                yield from _running(handler.body, with_optional)


def _is_for_checkers(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _expects_absence(node: ast.Try) -> bool:
    """`except ImportError` goes on without the library; one that raises again does not."""
    return any(
        isinstance(handler.type, ast.Name)
        and handler.type.id in ("ImportError", "ModuleNotFoundError")
        and not any(isinstance(each, ast.Raise) for each in handler.body)
        for handler in node.handlers
    )
