"""The functions and classes that a module declares, by their dotted names."""

import ast
from collections.abc import Iterator
from functools import cache

import imports

Function = ast.FunctionDef | ast.AsyncFunctionDef


def all_functions() -> Iterator[tuple[str, Function]]:
    return (each for module, tree in imports.modules().items() for each in functions(tree, module))


def all_classes() -> Iterator[tuple[str, ast.ClassDef]]:
    return (each for module, tree in imports.modules().items() for each in classes(tree, module))


def functions(tree: ast.Module, module: str) -> Iterator[tuple[str, Function]]:
    return ((name, node) for name, node in _declared(tree, module) if isinstance(node, Function))


def classes(tree: ast.Module, module: str) -> Iterator[tuple[str, ast.ClassDef]]:
    return ((name, node) for name, node in _declared(tree, module) if isinstance(node, ast.ClassDef))


@cache
def _declared(tree: ast.Module, module: str) -> list[tuple[str, ast.AST]]:
    return [*_below(tree, module)]


def _below(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """Statements are looked into, expressions declare nothing."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            yield f"{name}.{child.name}", child
            yield from _below(child, f"{name}.{child.name}")
        elif isinstance(child, ast.stmt):
            yield from _below(child, name)
