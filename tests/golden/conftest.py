"""Transcripts are read from tests/golden/*/*.txt; `make unit ARGS=--rewrite` writes what the code says today into them."""

import sys
from pathlib import Path

import pytest

# The desks and rigs of the unit tests play the shells here too.
UNIT = Path(__file__).resolve().parents[1] / "unit"
sys.path[:0] = [str(UNIT / core) for core in ("broker", "groups", "cluster")]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write today's answers into the transcripts")
