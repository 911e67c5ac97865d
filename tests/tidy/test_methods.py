"""No class has more than 20 methods, those that it inherits from ours included."""

import ast

from declared import Function, all_classes, classes
from shrinking import hold

METHODS_MAX = 20
ALLOWED = {
    "headrace.client.cluster_client.ClusterClient",
    "headrace.client.writer_client.WriterClient",
    "headrace.partition.partition.Partition",
}


def bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(each).partition("[")[0].rpartition(".")[2] for each in node.bases}


def methods(node: ast.ClassDef, known: dict[str, ast.ClassDef]) -> set[str]:
    """The names of its methods; `known` are the classes that it may inherit from, each the only one of its name."""
    own = {each.name for each in node.body if isinstance(each, Function)}
    return own.union(*(methods(known[base], known) for base in bases(node) & known.keys()))


def known_classes() -> dict[str, ast.ClassDef]:
    found: dict[str, list[ast.ClassDef]] = {}
    for _, node in all_classes():
        found.setdefault(node.name, []).append(node)
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1}


def test_no_class_has_too_many_methods() -> None:
    known = known_classes()
    hold({name for name, each in all_classes() if len(methods(each, known)) > METHODS_MAX}, ALLOWED, "split it")


def test_the_rule_bites() -> None:
    text = "class B:\n  def f(self): ...\n  def g(self): ...\nclass C(B):\n  def f(self): ...\n  async def h(self): ..."
    (_, base), (_, node) = classes(ast.parse(text), "m")
    assert (methods(node, {}), methods(node, {"B": base})) == ({"f", "h"}, {"f", "g", "h"})
