"""One name, one class: a public name is given to one class of the source only. Kafka's messages keep Kafka's names."""

import ast
from collections import Counter

import imports
from declared import classes
from shrinking import hold_counts

OWN_NAMES = "headrace.wire.messages."
ALLOWED = {
    "Answer": 3,
    "Broker": 3,
    "Client": 2,
    "Cluster": 2,
    "Command": 2,
    "Committed": 2,
    "Consumer": 2,
    "Delivered": 2,
    "Delivery": 2,
    "Elections": 2,
    "Message": 2,
    "Entry": 2,
    "GroupListed": 2,
    "NewTopic": 2,
    "Operation": 2,
    "Partition": 2,
    "PartitionShown": 2,
    "Producer": 2,
    "Reassignment": 2,
    "Request": 2,
    "Source": 3,
    "Subscription": 2,
    "Tally": 2,
    "Topic": 3,
    "Topics": 2,
    "Transaction": 3,
    "TransactionalProducer": 2,
    "Wanted": 2,
}


def shared(modules: dict[str, ast.Module]) -> dict[str, int]:
    ours = [(module, tree) for module, tree in modules.items() if not module.startswith(OWN_NAMES)]
    names = Counter(node.name for module, tree in ours for _, node in classes(tree, module))
    return {name: count for name, count in names.items() if count > 1 and not name.startswith("_")}


def test_no_two_classes_share_a_name() -> None:
    hold_counts(shared(imports.modules()), ALLOWED, "say in the name what tells it from the other one")


def test_the_rule_bites() -> None:
    tree = ast.parse("class A: ...\nclass _B: ...\nclass D:\n  class A: ...")
    assert shared({"m": tree, "headrace.wire.messages.x": tree}) == {"A": 2}
