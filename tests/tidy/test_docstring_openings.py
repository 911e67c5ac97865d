"""A docstring begins with its subject or a verb: "Tallies of existing webhooks, by id", not "By id, of those there are".

The first word is looked at, since that is where a riddle begins. A module says what it is: it neither asks, nor begins with
a clause ("Where backups are kept").
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
CLAUSES = {"After", "Before", "Does", "How", "If", "Is", "May", "When", "Where", "Why"}
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


def is_clause(text: str) -> bool:
    return first_word(text) in CLAUSES or "?" in text.partition(". ")[0].partition("\n\n")[0]


def test_modules_say_what_they_are() -> None:
    said = {module: ast.get_docstring(tree) or "" for module, tree in imports.modules().items()}
    assert {module: text for module, text in said.items() if not text or is_clause(text)} == {}


def test_the_rule_bites() -> None:
    tree = ast.parse('"""Of one of EXPECTED."""\nx = 1\n"""What it was."""\ndef f():\n  """Whether it is there."""')
    assert riddles(tree) == ["Of one of EXPECTED.", "What it was."]
    assert [is_clause(each) for each in ("Where it is.", "Has it room? No.", "The place. Why?")] == [True, True, False]
