"""The programs of docs/python.md, run in their order against a real broker: each prints what the page says."""

import re
from pathlib import Path

import pytest

from headrace.testing import Broker

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_the_programs_print_what_the_page_says(headrace_broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    programs = PROGRAM.findall(PAGE.read_text())
    assert len(programs) == 11
    for program, expected in programs:
        exec(compile(program.replace("127.0.0.1:9092", headrace_broker.bootstrap), str(PAGE), "exec"), {})
        assert capsys.readouterr().out == expected, program
