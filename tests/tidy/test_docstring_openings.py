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
    "headrace.broker.budget": 1,
    "headrace.broker.catch_up": 1,
    "headrace.broker.checkpoints": 2,
    "headrace.broker.clock_watch": 1,
    "headrace.broker.connection_limits": 2,
    "headrace.broker.coordinator": 2,
    "headrace.broker.credible_time": 2,
    "headrace.broker.dispatch": 3,
    "headrace.broker.fetcher": 1,
    "headrace.broker.fetchers": 1,
    "headrace.broker.first_writes": 1,
    "headrace.broker.flusher": 1,
    "headrace.broker.follow_session": 6,
    "headrace.broker.gaps": 1,
    "headrace.broker.handlers.fetch": 1,
    "headrace.broker.handlers.leaders": 1,
    "headrace.broker.handlers.produce": 1,
    "headrace.broker.handlers.producers": 1,
    "headrace.broker.handlers.static_settings": 1,
    "headrace.broker.handlers.topics": 1,
    "headrace.broker.handlers.transactions": 2,
    "headrace.broker.hung_peers": 1,
    "headrace.broker.image_turns": 1,
    "headrace.broker.isr_keeper": 2,
    "headrace.broker.janitor": 1,
    "headrace.broker.known_replicas": 1,
    "headrace.broker.listener": 4,
    "headrace.broker.logged_coordinator": 2,
    "headrace.broker.markers": 1,
    "headrace.broker.membership": 1,
    "headrace.broker.metadata": 1,
    "headrace.broker.new_leaders": 2,
    "headrace.broker.node": 2,
    "headrace.broker.partition": 8,
    "headrace.broker.partitions": 4,
    "headrace.broker.process_metrics": 1,
    "headrace.broker.refused_batches": 4,
    "headrace.broker.retention": 1,
    "headrace.broker.topic_metrics": 1,
    "headrace.broker.traces": 2,
    "headrace.broker.upkeep_metrics": 1,
    "headrace.broker.waiters": 1,
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
