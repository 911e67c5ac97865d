"""Every library that pyproject.toml asks for has its reason in docs/decisions.md, and no other one has."""

import re
import tomllib

import imports
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = "headrace"


def asked_for() -> set[str]:
    project = tomllib.loads((imports.ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return {canonicalize_name(Requirement(each).name) for told in lists for each in told} - {OURS}


def explained(page: str) -> set[str]:
    rows = re.findall(r"^\| (?!library|---)(.+?) \|", page.split("\n## Libraries\n")[1], re.MULTILINE)
    return {canonicalize_name(name) for row in rows for name in re.sub(r" \(.*?\)", "", row).split(", ")}


def test_every_library_has_a_reason() -> None:
    assert explained((imports.ROOT / "docs" / "decisions.md").read_text()) == asked_for()


def test_the_rule_bites() -> None:
    table = "\n## Libraries\n\n| library | why |\n|---|---|\n| typer, PyYAML (extra `x`) | words |\n"
    assert explained(table) == {"typer", "pyyaml"}
