"""A docstring begins with its subject or a verb: "Tallies of existing webhooks, by id", not "By id, of those there are".

The first word is looked at, since that is where a riddle begins.
"""

import ast
import re
from collections.abc import Iterator

import imports

RIDDLES = {
    *("And", "As", "Between", "By", "For", "From", "Here", "It", "Its", "Nobody", "Not", "Of", "Once", "Since"),
    *("Somebody", "Something", "That", "These", "Those", "To", "Told", "Until", "What", "Whatever", "Which"),
    *("Who", "Whoever", "Whom", "Whose", "Without"),
}
FIRST_WORD = re.compile(r"[\w']*")


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
    assert {module: found for module, tree in imports.modules().items() if (found := riddles(tree))} == {}


def test_the_rule_bites() -> None:
    tree = ast.parse('"""Of one of EXPECTED."""\nx = 1\n"""What it was."""\ndef f():\n  """Whether it is there."""')
    assert riddles(tree) == ["Of one of EXPECTED.", "What it was."]
