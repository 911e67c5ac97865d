"""Every function and class is named in src/ elsewhere than where it is declared, or is offered to users.

A name that only tests call is dead too: it goes, or moves to the tests. Names are compared bare, so a name that two
functions share counts as used when one of them is.
"""

import ast
import re

import imports
from declared import Function, classes, functions
from shrinking import hold

# Decorators that call nothing: a function with any other one belongs to whatever took it (a route, a command).
PLAIN = {
    *("abstractmethod", "asynccontextmanager", "cache", "classmethod"),
    *("contextmanager", "override", "property", "staticmethod"),
}
# Packages whose public names are for programs and tests of users.
OFFERED = ("headrace.api.", "headrace.testing.")
HOOKS = {
    "asyncio": ["buffer_updated", "connection_lost", "get_buffer", "pause_writing", "resume_writing"],
    "httpcore": ["connect_unix_socket"],
    "logging": ["enqueue"],
    "PySpark": [
        "getDefaultReadLimit", "initialOffset", "prepareForTriggerAvailableNow", "pushFilters", "reportLatestOffset",
        "onQueryIdle", "onQueryProgress", "onQueryStarted", "onQueryTerminated", "streamReader", "streamWriter",
    ],
    "urllib": ["redirect_request"],
    "websockets": ["handle_parser_exception"],
}  # fmt: skip
ALLOWED = {
    # All of its steps at once, as tests and transcripts look at a decision.
    "headrace.cluster.decide.heal",
    # The store that tests of the cluster and its contract run on.
    "headrace.stores.memory.MemoryStore",
    # Declared beside their requests, which no broker serves yet.
    "headrace.wire.messages.quotas.AlterClientQuotasResponse",
}


def used_in(tree: ast.Module) -> set[str]:
    """Names that are read, and strings that are names (`getattr`, `__slots__`); imports do not count."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            found.add(node.value)
    return found


def declared_in(tree: ast.Module, module: str) -> dict[str, str]:
    """Bare name by dotted name; not those that a decorator has taken."""
    both = (*functions(tree, module), *classes(tree, module))
    return {name: node.name for name, node in both if not _is_taken(node) and not node.name.startswith("__")}


def _is_taken(node: Function | ast.ClassDef) -> bool:
    return any(_bare(each) not in PLAIN for each in node.decorator_list if isinstance(node, Function))


def _bare(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)


def test_every_function_and_class_is_used() -> None:
    used = set().union(*map(used_in, imports.modules().values())) | {each for hooks in HOOKS.values() for each in hooks}
    declared = {
        key: name for module, tree in imports.modules().items() for key, name in declared_in(tree, module).items()
    }
    pages = "".join(page.read_text() for page in (imports.ROOT / "docs").glob("*.md"))
    unnamed = {key for key, name in declared.items() if name not in used and not key.startswith(OFFERED)}
    dead = {key for key in unnamed if not re.search(rf"{re.escape(key)}\b", pages)}
    hold(dead, ALLOWED, "delete it, or move it to the tests")


def test_no_hook_is_listed_that_nobody_declares() -> None:
    bare = {name for module, tree in imports.modules().items() for name in declared_in(tree, module).values()}
    assert {each for hooks in HOOKS.values() for each in hooks} - bare == set()


def test_the_rule_bites() -> None:
    tree = ast.parse("from a import f\nclass C:\n  def g(self): ...\n  @route\n  def h(self): ...\ndef f(): ...\nC()")
    assert set(declared_in(tree, "m").values()) - used_in(tree) == {"f", "g"}
