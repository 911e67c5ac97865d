"""The programs of docs/python.md and README.md, in their order against a real broker: each does what the page says."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from eventually import until
from headrace.testing import Broker

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "python.md"
WAIT_SECONDS = 60
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_the_programs_print_what_the_page_says(headrace_broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    programs = PROGRAM.findall(PAGE.read_text())
    assert len(programs) == 12
    for program, expected in programs:
        exec(compile(program.replace("127.0.0.1:9092", headrace_broker.bootstrap), str(PAGE), "exec"), {})
        assert capsys.readouterr().out == expected, program


def test_the_programs_of_the_readme_go_on_until_they_are_interrupted(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    outputs = [re.findall(r'\.send\("(\w+)"', program) for program in programs]
    assert outputs == [["bills"], ["invoices"]]
    with Broker() as broker, headrace.connect(broker.bootstrap) as client:
        for program, (output,) in zip(programs, outputs, strict=True):
            file = tmp_path / f"{output}.py"
            file.write_text(program.replace("127.0.0.1:9092", broker.bootstrap))
            with subprocess.Popen([sys.executable, str(file)], stderr=subprocess.PIPE) as running:
                try:
                    until(client.topics, lambda topics, output=output: output in topics)
                    until(lambda output=output: [each.json() for each in client.fetch(output)], [{"order": 1}].__eq__)
                    running.send_signal(signal.SIGINT)
                    assert (running.communicate(timeout=WAIT_SECONDS)[1], running.returncode) == (b"", 0)
                finally:
                    running.kill()
