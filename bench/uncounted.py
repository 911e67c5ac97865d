"""`headrace serve` without its metrics: every statement that only counts is cut out of the broker's code as it is loaded.

    python -m bench.uncounted --id 1 --port 19092 …

There is no switch for this in the product: a test for it at every counter would cost as much as the counter. So the bench
makes the broker that has none. What it still counts is what it needs itself, and the names below must be kept up to date:
`metrics_cost` looks at the page of the broker made here and fails when something on it moves.
"""

import ast
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

COUNTERS = {
    "bytes_copied_in",
    "bytes_copied_out",
    "bytes_in",
    "bytes_out",
    "bytes_received",
    "bytes_sent",
    "records_in",
    "records_out",
    "sync_files",
}
ROUTE_COUNTER = ("headrace.broker.net.dispatch", "count")
NOTED = "last_request"
OBSERVE = "observe"


class _Cut(ast.NodeTransformer):
    def __init__(self, module: str) -> None:
        self._module = module

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        name = node.target.attr if isinstance(node.target, ast.Attribute) else ""
        return ast.Pass() if name in COUNTERS or (self._module, name) == ROUTE_COUNTER else node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        return ast.Pass() if isinstance(target, ast.Attribute) and target.attr == NOTED else node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value.func if isinstance(node.value, ast.Call) else None
        return ast.Pass() if isinstance(call, ast.Attribute) and call.attr == OBSERVE else node


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        """Straight from the source: compiled files are those of the whole broker."""
        tree = _Cut(fullname).visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(("headrace.broker.", "headrace.partition.")):
            return None
        spec = PathFinder.find_spec(name, path, target)
        loader: Loader | Any = spec.loader if spec is not None else None
        if spec is not None and isinstance(loader, SourceFileLoader):
            spec.loader = _Loader(loader.name, loader.path)
        return spec


def main() -> None:
    sys.meta_path.insert(0, _Finder())
    from headrace.cli.run.serve import main as serve

    sys.exit(serve(sys.argv[1:]))


if __name__ == "__main__":
    main()
