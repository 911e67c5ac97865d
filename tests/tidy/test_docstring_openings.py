"""A docstring begins with its subject or a verb: "Tallies of existing webhooks, by id", not "By id, of those there are".

The first word is looked at, since that is where a riddle begins.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator

import imports
from shrinking import hold_counts

RIDDLES = {
    *("And", "As", "By", "For", "From", "Of", "That", "These", "Those", "To"),
    *("What", "Whatever", "Who", "Whoever", "Whose"),
}
FIRST_WORD = re.compile(r"[\w']*")
# Docstrings to rewrite, by module.
ALLOWED = {
    "headrace.broker.broker": 3,
    "headrace.broker.checkpoints": 2,
    "headrace.broker.coordinators.group": 1,
    "headrace.broker.coordinators.logged": 2,
    "headrace.broker.coordinators.markers": 1,
    "headrace.broker.disk.flusher": 1,
    "headrace.broker.disk.known_replicas": 1,
    "headrace.broker.handlers.fetch": 1,
    "headrace.broker.handlers.first_writes": 1,
    "headrace.broker.handlers.leaders": 1,
    "headrace.broker.handlers.produce": 1,
    "headrace.broker.handlers.producers": 1,
    "headrace.broker.handlers.static_settings": 1,
    "headrace.broker.handlers.topics": 1,
    "headrace.broker.handlers.transactions": 2,
    "headrace.broker.membership.clock_watch": 1,
    "headrace.broker.membership.image_turns": 1,
    "headrace.broker.membership.membership": 1,
    "headrace.broker.membership.metadata": 1,
    "headrace.broker.membership.new_leaders": 2,
    "headrace.broker.metrics": 1,
    "headrace.broker.metrics.process": 1,
    "headrace.broker.metrics.topics": 1,
    "headrace.broker.metrics.upkeep": 1,
    "headrace.broker.net.budget": 1,
    "headrace.broker.net.connection_limits": 2,
    "headrace.broker.net.dispatch": 3,
    "headrace.broker.net.hung_peers": 1,
    "headrace.broker.net.listener": 4,
    "headrace.broker.net.traces": 2,
    "headrace.broker.node": 2,
    "headrace.broker.partitions": 4,
    "headrace.broker.replication.catch_up": 1,
    "headrace.broker.replication.fetcher": 1,
    "headrace.broker.replication.fetchers": 1,
    "headrace.broker.replication.isr_keeper": 2,
    "headrace.broker.upkeep": 1,
    "headrace.broker.upkeep.credible_time": 2,
    "headrace.broker.upkeep.janitor": 1,
    "headrace.broker.upkeep.retention": 1,
    "headrace.partition.appends": 1,
    "headrace.partition.follow_session": 6,
    "headrace.partition.following": 1,
    "headrace.partition.reads": 1,
    "headrace.partition.ready": 2,
    "headrace.partition.refusals": 4,
    "headrace.partition.role": 1,
    "headrace.partition.upkeep": 1,
    "headrace.partition.waiters": 2,
}


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Texts that stand alone as a statement: of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value.strip()


def riddles(tree: ast.Module) -> list[str]:
    return [text for text in docstrings(tree) if first_word(text) in RIDDLES]


def first_word(text: str) -> str:
    found = FIRST_WORD.match(text)
    return found[0] if found else ""


def test_docstrings_begin_with_their_subject() -> None:
    found = Counter({module: len(riddles(tree)) for module, tree in imports.modules().items()})
    hold_counts(+found, ALLOWED, "begin with the subject or a verb")


def test_the_rule_bites() -> None:
    tree = ast.parse('"""Of one of EXPECTED."""\nx = 1\n"""What it was."""\ndef f():\n  """Whether it is there."""')
    assert riddles(tree) == ["Of one of EXPECTED.", "What it was."]
