"""Legal names of topics, as a sentence and as expressions: one rule."""

import re

import pytest

from headrace.base.topic_names import LENGTH_MAX, PATTERN, WHOLE_PATTERN, is_reserved, topic_name_problem


@pytest.mark.parametrize("name", ["a", "orders", "A.b_c-9", "...", "x" * LENGTH_MAX])
def test_legal(name: str) -> None:
    assert topic_name_problem(name) == ""
    assert re.search(PATTERN, name) and re.fullmatch(WHOLE_PATTERN, name)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ü", "a\n", "x" * (LENGTH_MAX + 1)])
def test_illegal(name: str) -> None:
    assert topic_name_problem(name)
    assert not re.fullmatch(WHOLE_PATTERN, name)


@pytest.mark.parametrize("name", [".", ".."])
def test_names_of_folders(name: str) -> None:
    assert topic_name_problem(name) == f"a topic cannot be called {name!r}"


def test_reserved() -> None:
    assert is_reserved("__consumer_offsets") and is_reserved("_headrace_webhooks")
    assert not is_reserved("_orders")
